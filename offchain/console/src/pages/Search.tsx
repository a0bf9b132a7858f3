/** What a text names, and what has a digest. */

import { useEffect } from "preact/hooks";
import { useLocation, useRoute } from "preact-iso";
import { useResource } from "../api/hooks.ts";
import type { Lease, Page, SearchMatch, Task } from "../api/types.ts";
import { DataTable, PageTable } from "../components/DataTable.tsx";
import { Empty, Load } from "../components/loading.tsx";
import { Hash, Heading, Status } from "../components/parts.tsx";
import { shortAddress } from "../lib/address.ts";
import { matterPhrase } from "../lib/matters.ts";
import { leasePhrase, taskPhrase } from "../lib/states.ts";
import { apiQuery } from "../lib/url_state.ts";

/** Returns the page of a match in this console. */
export function matchPath(match: SearchMatch): string {
  const id = encodeURIComponent(match.id);
  switch (match.kind) {
    case "event":
      return `/blocks/${match.block ?? ""}`;
    default:
      return `/${match.kind}s/${id}`;
  }
}

export function Search() {
  const { query, route } = useLocation();
  const text = query["q"] ?? "";
  const found = useResource<{ data: SearchMatch[] }>(text === "" ? null : `/v1/search${apiQuery({ q: text })}`);
  const only = found.data?.data.length === 1 ? found.data.data[0] : undefined;
  useEffect(() => {
    if (only !== undefined) route(matchPath(only), true);
  }, [only, route]);
  return (
    <>
      <Heading title="Search">
        {text !== "" && (
          <>
            for <code>{text}</code>
          </>
        )}
      </Heading>
      {text === "" && (
        <Empty>Enter a number of a block, task, lease or challenge, a hash, a digest or an address above.</Empty>
      )}
      {text !== "" && (
        <Load of={found} what="matches">
          {(answer) =>
            answer.data.length === 0 ? (
              <Empty>
                Nothing in the index has this name. A transaction appears here once its block is final, some seconds
                after it was sent.
              </Empty>
            ) : (
              <DataTable
                label="Matches"
                rows={answer.data}
                keyOf={(row) => `${row.kind} ${row.id}`}
                columns={[
                  { title: "Kind", cell: (row) => row.kind },
                  {
                    title: "Match",
                    cell: (row) => (
                      <a class="mono" href={matchPath(row)}>
                        {row.id.length > 40 ? shortAddress(row.id) : row.id}
                      </a>
                    ),
                  },
                  {
                    title: "About",
                    cell: (row) =>
                      row.kind === "task" ? (
                        <Status phrase={taskPhrase(row.about)} />
                      ) : row.kind === "challenge" || row.kind === "dispute" ? (
                        <Status phrase={matterPhrase(row.kind, row.about)} />
                      ) : (
                        shortAddress(row.about)
                      ),
                  },
                  { title: "Block", right: true, minor: true, cell: (row) => row.block ?? "" },
                ]}
              />
            )
          }
        </Load>
      )}
    </>
  );
}

/** Tasks with a manifest, and leases with a result, of this SHA-256. */
export function Digest() {
  const { params } = useRoute();
  const digest = params["digest"] ?? "";
  const tasks = useResource<Page<Task>>(`/v1/tasks${apiQuery({ digest, limit: 100 })}`);
  const leases = useResource<Page<Lease>>(`/v1/leases${apiQuery({ digest, limit: 100 })}`);
  return (
    <>
      <Heading title={`Digest ${shortAddress(digest)}`} />
      <section class="card">
        <Hash hash={digest} whole what="digest" />
        <p class="muted">
          SHA-256 of a manifest or result. The same content has the same digest, whoever submitted it.
        </p>
      </section>
      <section class="stack">
        <h2>Tasks with this manifest</h2>
        <PageTable<Task>
          label="Tasks with this manifest"
          what="tasks"
          of={tasks}
          empty="No task has this manifest."
          keyOf={(row) => row.task}
          columns={[
            { title: "Task", cell: (row) => <a href={`/tasks/${row.task}`}>{row.task}</a> },
            { title: "State", cell: (row) => <Status phrase={taskPhrase(row.state)} /> },
          ]}
        />
      </section>
      <section class="stack">
        <h2>Leases with this result</h2>
        <PageTable<Lease>
          label="Leases with this result"
          what="leases"
          of={leases}
          empty="No lease has this result."
          keyOf={(row) => row.lease}
          columns={[
            { title: "Lease", cell: (row) => <a href={`/leases/${row.lease}`}>{row.lease}</a> },
            { title: "Task", cell: (row) => <a href={`/tasks/${row.task}`}>{row.task}</a> },
            { title: "State", cell: (row) => <Status phrase={leasePhrase(row.state, row.reason)} /> },
          ]}
        />
      </section>
    </>
  );
}
