/** Disputes about results: the list, and one with its evidence, stakes, juries, votes and timeline. */

import { useLocation, useRoute } from "preact-iso";
import { useFollowed } from "../api/followed.ts";
import { useResource } from "../api/hooks.ts";
import type { Dispute, DisputeDetail, DisputeEvidence, Stake } from "../api/matter_types.ts";
import type { Page } from "../api/types.ts";
import { Committees } from "../components/Committees.tsx";
import { DataTable, PageTable } from "../components/DataTable.tsx";
import { Live } from "../components/Live.tsx";
import { Load } from "../components/loading.tsx";
import { MatterFilters } from "../components/MatterFilters.tsx";
import { Address, Amount, Facts, Hash, Heading, Status, Time } from "../components/parts.tsx";
import { Timeline } from "../components/Timeline.tsx";
import { matterPhrase, voteText } from "../lib/matters.ts";
import { apiQuery, stateOf, urlWith } from "../lib/url_state.ts";

const DEFAULTS = { state: "", outcome: "", after: "" };

export function Disputes() {
  const { query, route } = useLocation();
  const state = stateOf(query, DEFAULTS);
  const disputes = useResource<Page<Dispute>>(`/v1/disputes${apiQuery(state)}`);
  const to = (change: Partial<typeof DEFAULTS>): string => urlWith("/disputes", { ...state, after: "", ...change });
  return (
    <>
      <Heading title="Disputes">A jury decides whether the accused results of a task are wrong.</Heading>
      <MatterFilters
        kind="dispute"
        state={state.state}
        outcome={state.outcome}
        onChange={(change) => route(to(change))}
      />
      <PageTable<Dispute>
        label="Disputes"
        what="disputes"
        of={disputes}
        empty="No dispute fits."
        keyOf={(row) => row.task}
        pageHref={(after) => to({ after })}
        isFirst={state.after === ""}
        columns={[
          { title: "Task", cell: (row) => <a href={`/disputes/${row.task}`}>{row.task}</a> },
          { title: "State", cell: (row) => <Status phrase={matterPhrase("dispute", row.state, row.outcome)} /> },
          { title: "Opened", cell: (row) => <Time ms={row.opened_ms} /> },
          { title: "Opened by", cell: (row) => <Address account={row.opener} /> },
          { title: "Appeals", right: true, minor: true, cell: (row) => row.level },
        ]}
      />
    </>
  );
}

export function DisputePage() {
  const { params } = useRoute();
  const number = params["task"] ?? "";
  const { record, events, stream } = useFollowed<DisputeDetail>(
    `/v1/disputes/${encodeURIComponent(number)}`,
    number,
    "Verification",
  );
  return (
    <>
      <Heading title={`Dispute about task ${number}`} aside={record.data !== null && <Live state={stream} />}>
        {record.data !== null && (
          <Status phrase={matterPhrase("dispute", record.data.data.state, record.data.data.outcome)} />
        )}
      </Heading>
      <Load of={record} what="the dispute">
        {({ data }) => (
          <>
            <section class="card" aria-label="Facts">
              <DisputeFacts dispute={data} />
            </section>
            <section class="stack">
              <h2>Evidence</h2>
              <Evidence rows={data.evidence} />
            </section>
            <section class="stack">
              <h2>Stakes</h2>
              <Stakes rows={data.stakes} />
            </section>
            <section class="stack">
              <h2>Juries</h2>
              <Committees kind="dispute" committees={data.committees} />
            </section>
            <Timeline of={events} />
          </>
        )}
      </Load>
    </>
  );
}

function DisputeFacts(props: { dispute: Dispute }) {
  const { dispute } = props;
  return (
    <Facts
      facts={[
        ["Task", <a href={`/tasks/${dispute.task}`}>{dispute.task}</a>],
        [
          "Accused leases",
          <>
            {dispute.accused.map((lease, place) => (
              <span key={lease}>
                {place > 0 && ", "}
                <a href={`/leases/${lease}`}>{lease}</a>
              </span>
            ))}
          </>,
        ],
        ["Opened by", <Address account={dispute.opener} whole />],
        [
          "Tenant",
          dispute.tenant === null || dispute.tenant === dispute.opener ? undefined : (
            <Address account={dispute.tenant} whole />
          ),
        ],
        ["Opened", <Time ms={dispute.opened_ms} />],
        ["In block", <a href={`/blocks/${dispute.opened_block}`}>{dispute.opened_block}</a>],
        ["This phase ends", dispute.until_ms === null ? undefined : <Time ms={dispute.until_ms} />],
        ["Appeals", dispute.level],
        ["Last verdict", dispute.verdict === null ? "not yet" : voteText("dispute", dispute.verdict)],
        ["Last change", <Time ms={dispute.changed_ms} />],
      ]}
    />
  );
}

function Evidence(props: { rows: readonly DisputeEvidence[] }) {
  return (
    <DataTable
      label="Evidence"
      rows={props.rows}
      keyOf={(row) => `${row.block}.${row.index}`}
      columns={[
        { title: "Named by", cell: (row) => <Address account={row.account} /> },
        { title: "SHA-256", cell: (row) => <Hash hash={row.digest} what="digest" /> },
        { title: "Hearing", minor: true, cell: (row) => (row.level === 0 ? "first" : `appeal ${row.level}`) },
        { title: "Time", cell: (row) => <Time ms={row.time_ms} /> },
      ]}
    />
  );
}

function Stakes(props: { rows: readonly Stake[] }) {
  return (
    <DataTable
      label="Stakes"
      rows={props.rows}
      keyOf={(row) => row.account}
      columns={[
        { title: "Account", cell: (row) => <Address account={row.account} /> },
        { title: "Staked", right: true, cell: (row) => <Amount value={row.staked} digits={4} /> },
        { title: "Returned", right: true, cell: (row) => <Amount value={row.returned} digits={4} /> },
        { title: "Lost", right: true, cell: (row) => <Amount value={row.lost} digits={4} /> },
        { title: "Fees refunded", right: true, minor: true, cell: (row) => <Amount value={row.refunded} digits={4} /> },
      ]}
    />
  );
}
