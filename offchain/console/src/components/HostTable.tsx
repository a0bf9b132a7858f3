import type { Loaded } from "../api/hooks.ts";
import type { Host, Page } from "../api/types.ts";
import { percent } from "../lib/matters.ts";
import { hostPhrase } from "../lib/states.ts";
import { PageTable } from "./DataTable.tsx";
import { Address, Amount, Status, Time } from "./parts.tsx";

export function HostTable(props: {
  of: Loaded<Page<Host>>;
  pageHref?: (after: string) => string;
  isFirst?: boolean;
  empty?: string;
}) {
  return (
    <PageTable<Host>
      label="Hosts"
      what="hosts"
      of={props.of}
      empty={props.empty ?? "No host fits."}
      keyOf={(row) => row.host}
      {...(props.pageHref === undefined ? {} : { pageHref: props.pageHref })}
      {...(props.isFirst === undefined ? {} : { isFirst: props.isFirst })}
      columns={[
        { title: "Host", cell: (row) => <Address account={row.host} kind="host" /> },
        { title: "Status", cell: (row) => <Status phrase={hostPhrase(row.status)} /> },
        { title: "Provider", minor: true, cell: (row) => <Address account={row.provider} /> },
        {
          title: "Reputation",
          right: true,
          cell: (row) => (row.score_ppm === null ? "no rating" : percent(row.score_ppm)),
        },
        { title: "Leases", right: true, minor: true, cell: (row) => row.leases },
        { title: "Earned", right: true, cell: (row) => <Amount value={row.earned} digits={4} /> },
        { title: "Slashed", right: true, minor: true, cell: (row) => <Amount value={row.slashed} digits={4} /> },
        { title: "Changed", minor: true, cell: (row) => <Time ms={row.changed_ms} /> },
      ]}
    />
  );
}
