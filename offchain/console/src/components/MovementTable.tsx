import type { Loaded } from "../api/hooks.ts";
import type { Movement, Page } from "../api/types.ts";
import { spaced } from "../lib/states.ts";
import { PageTable } from "./DataTable.tsx";
import { Address, Amount, Change, Time } from "./parts.tsx";

/** Returns why coins were on hold, in words: "Billing(Escrow)" is "escrow". */
function holdText(reason: string): string {
  const found = /^(\w+)\((\w+)\)$/.exec(reason);
  return found ? `${spaced(found[2] ?? "")} (${spaced(found[1] ?? "")})` : spaced(reason);
}

export function MovementTable(props: {
  of: Loaded<Page<Movement>>;
  pageHref: (after: string) => string;
  isFirst: boolean;
}) {
  return (
    <PageTable<Movement>
      label="Movements of coins"
      what="movements"
      of={props.of}
      empty="No coin of this account has moved yet."
      keyOf={(row) => `${row.block}.${row.index}`}
      pageHref={props.pageHref}
      isFirst={props.isFirst}
      columns={[
        { title: "Time", cell: (row) => <Time ms={row.time_ms} /> },
        {
          title: "Place",
          minor: true,
          cell: (row) => (
            <a href={`/blocks/${row.block}`}>
              {row.block}.{row.index}
            </a>
          ),
        },
        {
          title: "What",
          cell: (row) => (
            <span title={row.kind}>
              {row.category}
              {row.reason !== null && <span class="muted"> · {holdText(row.reason)}</span>}
            </span>
          ),
        },
        {
          title: "With",
          minor: true,
          cell: (row) => (row.counterparty === null ? "" : <Address account={row.counterparty} />),
        },
        { title: "Amount", right: true, minor: true, cell: (row) => <Amount value={row.amount} digits={6} /> },
        { title: "Free", right: true, cell: (row) => <Change value={row.free_change} digits={6} /> },
        { title: "On hold", right: true, cell: (row) => <Change value={row.held_change} digits={6} /> },
        { title: "Free after", right: true, cell: (row) => <Amount value={row.free_total} digits={6} unit={false} /> },
        {
          title: "On hold after",
          right: true,
          minor: true,
          cell: (row) => <Amount value={row.held_total} digits={6} unit={false} />,
        },
      ]}
    />
  );
}
