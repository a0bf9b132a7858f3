/** An account in the explorer: every coin with running totals, its tasks, its hosts and its events. */

import { useLocation, useRoute } from "preact-iso";
import { useAllPages, useResource } from "../api/hooks.ts";
import type { Event, Host, Movement, Page, Task } from "../api/types.ts";
import { EventList } from "../components/EventList.tsx";
import { HostTable } from "../components/HostTable.tsx";
import { Load } from "../components/loading.tsx";
import { MovementTable } from "../components/MovementTable.tsx";
import { Amount, Copy, Heading, Tabs, Tile } from "../components/parts.tsx";
import { TaskTable } from "../components/TaskTable.tsx";
import { Verify } from "../components/Verify.tsx";
import { accountPath, shortAddress } from "../lib/address.ts";
import { apiQuery, stateOf, urlWith } from "../lib/url_state.ts";

const TABS = [
  { id: "coins", name: "Coins" },
  { id: "tasks", name: "Tasks" },
  { id: "hosts", name: "Hosts" },
  { id: "events", name: "Events" },
] as const;
const DEFAULTS = { tab: "coins", after: "" };

export function AccountCoins() {
  const { params } = useRoute();
  const { query } = useLocation();
  const account = params["account"] ?? "";
  const state = stateOf(query, DEFAULTS);
  const path = accountPath(account);
  const to = (change: Partial<typeof DEFAULTS>): string => urlWith(path, { ...state, after: "", ...change }, DEFAULTS);
  const name = encodeURIComponent(account);
  const last = useResource<Page<Movement>>(`/v1/accounts/${name}/movements?limit=1`);
  const newest = last.data?.data[0];
  const of = (tab: string, found: string): string | null => (state.tab === tab ? found : null);
  const tasks = useResource<Page<Task>>(of("tasks", `/v1/tasks${apiQuery({ tenant: account, after: state.after })}`));
  const hosts = useResource<Page<Host>>(of("hosts", `/v1/hosts${apiQuery({ provider: account, after: state.after })}`));
  const events = useAllPages<Event>(of("events", `/v1/events?subject=${name}&limit=200&documented=true`), 1);
  return (
    <>
      <Heading title={`Account ${shortAddress(account)}`}>
        <code>{account}</code>
        <Copy text={account} what="address" />
      </Heading>
      {newest !== undefined && (
        <ul class="tiles" aria-label="Coins now">
          <Tile name="Free">
            <Amount value={newest.free_total} digits={4} />
          </Tile>
          <Tile name="On hold" note="escrows, deposits and bonds">
            <Amount value={newest.held_total} digits={4} />
          </Tile>
        </ul>
      )}
      <Tabs label="Views of the account" tabs={TABS} current={state.tab} href={(tab) => to({ tab })} />
      {state.tab === "coins" && <Movements account={account} after={state.after} href={(after) => to({ after })} />}
      {state.tab === "tasks" && (
        <TaskTable of={tasks} pageHref={(after) => to({ after })} isFirst={state.after === ""} />
      )}
      {state.tab === "hosts" && (
        <HostTable
          of={hosts}
          empty="This account owns no host."
          pageHref={(after) => to({ after })}
          isFirst={state.after === ""}
        />
      )}
      {state.tab === "events" && (
        <Load of={events} what="events">
          {(rows) => <EventList events={rows} isComplete={events.isComplete} showsTime />}
        </Load>
      )}
      <Verify subject={`account ${account}`} file="account.proof" />
    </>
  );
}

/** The movements of an account, with the CSV of all of them. */
export function Movements(props: { account: string; after: string; href: (after: string) => string }) {
  const name = encodeURIComponent(props.account);
  const movements = useResource<Page<Movement>>(`/v1/accounts/${name}/movements${apiQuery({ after: props.after })}`);
  return (
    <section class="stack">
      <div class="row row-end">
        <h2>Movements</h2>
        <a class="button no-print" href={`/v1/accounts/${name}/movements?format=csv&order=oldest`} download="coins.csv">
          Download as CSV
        </a>
      </div>
      <MovementTable of={movements} pageHref={props.href} isFirst={props.after === ""} />
    </section>
  );
}
