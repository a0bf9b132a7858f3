/** The reputation of a host: its parts on the chain, and the events that changed its score. */

import { useResource } from "../api/hooks.ts";
import type { Reputation, ScoreChange } from "../api/matter_types.ts";
import type { Page, ResourceAnswer } from "../api/types.ts";
import { eventText } from "../lib/event_text.ts";
import { percent, scorePartName } from "../lib/matters.ts";
import { formatDuration } from "../lib/time.ts";
import { DataTable, PageTable } from "./DataTable.tsx";
import { Empty, Load } from "./loading.tsx";
import { Facts, Time } from "./parts.tsx";

const PPM = 1_000_000;

export function HostReputation(props: { host: string }) {
  const name = encodeURIComponent(props.host);
  const found = useResource<ResourceAnswer<Reputation>>(`/v1/reputation/${name}`);
  const changes = useResource<Page<ScoreChange>>(`/v1/reputation/${name}/changes?limit=20`);
  return (
    <section class="stack">
      <h2>Reputation</h2>
      {found.problem?.status === 404 ? (
        <Empty>The chain has no evidence about it yet.</Empty>
      ) : (
        <Load of={found} what="the reputation">
          {({ data }) =>
            data.host === null ? <Empty>The chain has no evidence about it yet.</Empty> : <Parts of={data} />
          }
        </Load>
      )}
      <h3>What changed its score</h3>
      <PageTable<ScoreChange>
        label="Changes of the score"
        what="changes"
        of={changes}
        empty="The index has no change of its score."
        keyOf={(row) => row.id}
        columns={[
          { title: "Time", cell: (row) => <Time ms={row.time_ms} /> },
          { title: "Block", minor: true, cell: (row) => <a href={`/blocks/${row.block}`}>{row.block}</a> },
          { title: "Score after it", right: true, cell: (row) => percent(row.score_ppm) },
          { title: "Evidence", cell: (row) => <Causes of={row} /> },
        ]}
      />
    </section>
  );
}

function Parts(props: { of: Reputation }) {
  const { host, provider } = props.of;
  if (host === null) return null;
  return (
    <>
      <DataTable
        label="Parts of the score"
        rows={host.parts}
        keyOf={(row) => row.name}
        columns={[
          { title: "Evidence", cell: (row) => scorePartName(row.name) },
          { title: "Part", right: true, cell: (row) => `${row.weight_percent} %` },
          { title: "For", right: true, cell: (row) => (row.positive / PPM).toFixed(2) },
          { title: "Against", right: true, cell: (row) => (row.negative / PPM).toFixed(2) },
          { title: "Score", right: true, cell: (row) => percent(row.score_ppm) },
        ]}
      />
      <div class="card">
        <Facts
          facts={[
            ["Score", percent(host.score_ppm)],
            ["Leases settled", host.settled_leases],
            [
              "There during its leases",
              host.promised_ms === 0
                ? "none has ended yet"
                : `${formatDuration(host.met_ms)} of ${formatDuration(host.promised_ms)}`,
            ],
            ["Last change", <Time ms={host.updated_ms} />],
            [
              "Faults of it as a provider",
              provider === null ? undefined : `${(provider.weight_ppm / PPM).toFixed(2)} of a grave one`,
            ],
          ]}
        />
      </div>
    </>
  );
}

/** Returns the page of what an event is about, if it has one. */
function causePath(fields: Readonly<Record<string, unknown>>): string | null {
  if (fields["challenge"] !== undefined) return `/challenges/${String(fields["challenge"])}`;
  if (fields["lease"] !== undefined) return `/leases/${String(fields["lease"])}`;
  return fields["task"] === undefined ? null : `/tasks/${String(fields["task"])}`;
}

function Causes(props: { of: ScoreChange }) {
  if (props.of.causes.length === 0) return <span class="muted">not in the index</span>;
  return (
    <ul class="links">
      {props.of.causes.map((event) => {
        const path = causePath(event.fields);
        return <li key={event.id}>{path === null ? eventText(event) : <a href={path}>{eventText(event)}</a>}</li>;
      })}
    </ul>
  );
}
