/** The score of a host: its parts on the chain, and the events that changed it. */

import type { Loaded } from "../api/hooks.ts";
import type { Reputation, ScoreChange } from "../api/matter_types.ts";
import type { Page, ResourceAnswer } from "../api/types.ts";
import { eventText } from "../lib/event_text.ts";
import { percent, scorePartName } from "../lib/matters.ts";
import { DataTable, PageTable } from "./DataTable.tsx";
import { Empty, Load } from "./loading.tsx";
import { Time } from "./parts.tsx";

export const PPM = 1_000_000;

export function ScoreParts(props: { of: Loaded<ResourceAnswer<Reputation>> }) {
  return (
    <>
      <h3>Parts of its score</h3>
      {props.of.problem?.status === 404 ? (
        <NoEvidence />
      ) : (
        <Load of={props.of} what="the reputation">
          {({ data }) => (data.host === null ? <NoEvidence /> : <Parts rows={data.host.parts} />)}
        </Load>
      )}
    </>
  );
}

function NoEvidence() {
  return <Empty>The chain has no evidence about it yet.</Empty>;
}

function Parts(props: { rows: NonNullable<Reputation["host"]>["parts"] }) {
  return (
    <DataTable
      label="Parts of the score"
      rows={props.rows}
      keyOf={(row) => row.name}
      columns={[
        { title: "Evidence", cell: (row) => scorePartName(row.name) },
        { title: "Part", right: true, cell: (row) => `${row.weight_percent} %` },
        { title: "For", right: true, cell: (row) => (row.positive / PPM).toFixed(2) },
        { title: "Against", right: true, cell: (row) => (row.negative / PPM).toFixed(2) },
        { title: "Score", right: true, cell: (row) => percent(row.score_ppm) },
      ]}
    />
  );
}

export function ScoreChanges(props: { of: Loaded<Page<ScoreChange>> }) {
  return (
    <>
      <h3>What changed its score</h3>
      <PageTable<ScoreChange>
        label="Changes of the score"
        what="changes"
        of={props.of}
        empty="The index has no change of its score."
        keyOf={(row) => row.id}
        columns={[
          { title: "Time", cell: (row) => <Time ms={row.time_ms} /> },
          { title: "Block", minor: true, cell: (row) => <a href={`/blocks/${row.block}`}>{row.block}</a> },
          { title: "Score after it", right: true, cell: (row) => percent(row.score_ppm) },
          { title: "Evidence", cell: (row) => <Causes of={row} /> },
        ]}
      />
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
