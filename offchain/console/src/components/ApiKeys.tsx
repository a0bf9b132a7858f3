/** Keys for programs: list, make, revoke. A key is shown once. */

import { useState } from "preact/hooks";
import { asProblem, type Problem, request } from "../api/client.ts";
import { useResource } from "../api/hooks.ts";
import type { ApiKeyList, NewApiKey, ResourceAnswer, Session } from "../api/types.ts";
import { DataTable } from "./DataTable.tsx";
import { Empty, Load, ProblemNotice } from "./loading.tsx";
import { Copy, Time } from "./parts.tsx";

export function ApiKeys(props: { session: Session | null }) {
  if (props.session === null) {
    return <Empty>Sign in to make keys for programs. The gateway's operator turns sign-in on (--http-domain).</Empty>;
  }
  return <KeyList roles={props.session.roles} />;
}

function KeyList(props: { roles: readonly string[] }) {
  const keys = useResource<ResourceAnswer<ApiKeyList>>("/v1/api-keys");
  const [made, setMade] = useState<NewApiKey | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const attempt = (work: Promise<unknown>): void => {
    setProblem(null);
    work.then(keys.reload, (error: unknown) => setProblem(asProblem(error)));
  };
  const add = (event: Event & { currentTarget: HTMLFormElement }): void => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const body = {
      name: String(fields.get("name")),
      scopes: fields.getAll("scopes").map(String),
      days: Number(fields.get("days")),
    };
    attempt(
      request<ResourceAnswer<NewApiKey>>("/v1/api-keys", { method: "POST", body }).then((answer) =>
        setMade(answer.data),
      ),
    );
  };
  return (
    <section class="stack">
      <h2>Keys for programs</h2>
      {problem !== null && <ProblemNotice problem={problem} />}
      {made !== null && (
        <div class="notice notice-good" role="status">
          <p>The key “{made.name}” is shown only now. Store it where your program finds it:</p>
          <p>
            <code>{made.key}</code>
            <Copy text={made.key} what="key" />
          </p>
        </div>
      )}
      <Load of={keys} what="keys">
        {({ data }) =>
          data.keys.length === 0 ? (
            <Empty>This account has no key.</Empty>
          ) : (
            <DataTable
              label="Keys"
              rows={data.keys}
              keyOf={(row) => row.id}
              columns={[
                { title: "Name", cell: (row) => row.name },
                { title: "Acts as", cell: (row) => row.scopes.join(", ") },
                { title: "Made", minor: true, cell: (row) => <Time ms={row.created_ms} /> },
                { title: "Valid until", cell: (row) => <Time ms={row.expires_ms} /> },
                {
                  title: "Action",
                  cell: (row) => (
                    <button
                      type="button"
                      aria-label={`Revoke ${row.name}`}
                      onClick={() => attempt(request(`/v1/api-keys/${row.id}`, { method: "DELETE" }))}
                    >
                      Revoke
                    </button>
                  ),
                },
              ]}
            />
          )
        }
      </Load>
      <form class="card filters" onSubmit={add}>
        <label class="field">
          Name
          <input name="name" required maxLength={64} pattern="[ -~]+" />
        </label>
        <label class="field">
          Valid for days
          <input name="days" type="number" min={1} max={365} defaultValue="90" required />
        </label>
        <fieldset class="row">
          <legend>Acts as</legend>
          {props.roles.map((role) => (
            <label class="field-inline" key={role}>
              <input type="checkbox" name="scopes" value={role} defaultChecked={role === "tenant"} /> {role}
            </label>
          ))}
        </fieldset>
        <button type="submit">Make a key</button>
      </form>
    </section>
  );
}
