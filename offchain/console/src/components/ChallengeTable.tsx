import type { Loaded } from "../api/hooks.ts";
import type { Challenge } from "../api/matter_types.ts";
import type { Page } from "../api/types.ts";
import { matterPhrase } from "../lib/matters.ts";
import { PageTable } from "./DataTable.tsx";
import { Address, Status, Time } from "./parts.tsx";

export function ChallengeTable(props: {
  of: Loaded<Page<Challenge>>;
  empty: string;
  /** Whether all are of one host, which is not shown then. */
  isOfHost?: boolean;
  pageHref?: (after: string) => string;
  isFirst?: boolean;
}) {
  return (
    <PageTable<Challenge>
      label="Challenges"
      what="challenges"
      of={props.of}
      empty={props.empty}
      keyOf={(row) => row.challenge}
      {...(props.pageHref === undefined ? {} : { pageHref: props.pageHref })}
      {...(props.isFirst === undefined ? {} : { isFirst: props.isFirst })}
      columns={[
        { title: "Challenge", cell: (row) => <a href={`/challenges/${row.challenge}`}>{row.challenge}</a> },
        { title: "State", cell: (row) => <Status phrase={matterPhrase("challenge", row.state, row.outcome)} /> },
        ...(props.isOfHost === true
          ? []
          : [{ title: "Host", cell: (row: Challenge) => <Address account={row.host} kind="host" /> }]),
        { title: "Device", cell: (row) => `${row.device}: ${row.claim?.model ?? "not known"}` },
        { title: "Opened", cell: (row) => <Time ms={row.opened_ms} /> },
        {
          title: "Opened by",
          minor: true,
          cell: (row) => (row.opener === null ? "the council" : <Address account={row.opener} />),
        },
      ]}
    />
  );
}
