/** The connected account: connecting and signing in, coins and escrows, tasks, statements, keys, webhooks. */

import { useLocation } from "preact-iso";
import { useResource } from "../api/hooks.ts";
import type { Page, Task } from "../api/types.ts";
import { ApiKeys } from "../components/ApiKeys.tsx";
import { Balances, Transfer } from "../components/Balances.tsx";
import { Connect } from "../components/Connect.tsx";
import { ProblemNotice } from "../components/loading.tsx";
import { Copy, Heading, Status, Tabs, Time } from "../components/parts.tsx";
import { Statement } from "../components/Statement.tsx";
import { TaskTable } from "../components/TaskTable.tsx";
import { Webhooks } from "../components/Webhooks.tsx";
import { apiQuery, stateOf, urlWith } from "../lib/url_state.ts";
import { disconnect, signIn, useWallet } from "../wallet/session.ts";

const TABS = [
  { id: "coins", name: "Coins" },
  { id: "tasks", name: "Tasks" },
  { id: "statement", name: "Statement" },
  { id: "keys", name: "Keys for programs" },
  { id: "webhooks", name: "Webhooks" },
] as const;
const DEFAULTS = { tab: "coins", after: "", from: "", to: "" };

export function OwnAccount() {
  const { query } = useLocation();
  const { signer, session, hasSignIn, problem } = useWallet();
  const state = stateOf(query, DEFAULTS);
  const to = (change: Partial<typeof DEFAULTS>): string =>
    urlWith("/account", { ...state, after: "", ...change }, DEFAULTS);
  const tasks = useResource<Page<Task>>(
    signer === null || state.tab !== "tasks"
      ? null
      : `/v1/tasks${apiQuery({ tenant: signer.address, after: state.after })}`,
  );
  if (signer === null) return <Connect />;
  return (
    <>
      <Heading
        title="Account"
        aside={
          <>
            {session === null && hasSignIn !== false && (
              <button type="button" onClick={() => void signIn()}>
                Sign in
              </button>
            )}
            <button type="button" onClick={() => void disconnect()}>
              {session === null ? "Disconnect" : "Sign out"}
            </button>
          </>
        }
      >
        <code>{signer.address}</code>
        <Copy text={signer.address} what="address" />
        <div>
          {signer.name !== "" && `${signer.name}, `}
          {signer.source === "development"
            ? "development account: its key is public"
            : `in the wallet ${signer.source}`}
          .{" "}
          {session !== null ? (
            <>
              <Status phrase={{ icon: "done", text: `signed in as ${session.roles.join(", ")}`, tone: "good" }} /> until{" "}
              <Time ms={session.expires_ms} />
            </>
          ) : (
            <Status
              phrase={{
                icon: "free",
                text: hasSignIn === false ? "connected; this gateway has no sign-in" : "connected, not signed in",
                tone: "idle",
              }}
            />
          )}
        </div>
      </Heading>
      {problem !== null && <ProblemNotice problem={problem} />}
      <Tabs label="Views of the account" tabs={TABS} current={state.tab} href={(tab) => to({ tab })} />
      {state.tab === "coins" && (
        <>
          <Balances account={signer.address} after={state.after} pageHref={(after) => to({ after })} />
          <Transfer />
        </>
      )}
      {state.tab === "tasks" && (
        <TaskTable of={tasks} pageHref={(after) => to({ after })} isFirst={state.after === ""} />
      )}
      {state.tab === "statement" && (
        <Statement
          account={signer.address}
          from={state.from}
          to={state.to}
          href={(from, until) => to({ from, to: until })}
        />
      )}
      {state.tab === "keys" && <ApiKeys session={session} />}
      {state.tab === "webhooks" && <Webhooks session={session} />}
    </>
  );
}
