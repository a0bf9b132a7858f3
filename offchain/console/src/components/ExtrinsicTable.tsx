import type { Extrinsic } from "../api/types.ts";
import { DataTable } from "./DataTable.tsx";
import { Empty } from "./loading.tsx";
import { Address, Amount, Hash, Status } from "./parts.tsx";
import type { Phrase } from "../lib/states.ts";

/** Returns how an extrinsic ended. */
export function extrinsicPhrase(row: Extrinsic): Phrase {
  if (!row.success) return { icon: "failed", text: `failed: ${row.error ?? "an error without a name"}`, tone: "bad" };
  if (row.refused_items > 0) {
    const items = row.refused_items === 1 ? "1 item" : `${row.refused_items} items`;
    return { icon: "flag", text: `succeeded, but ${items} of the batch failed`, tone: "warn" };
  }
  return { icon: "done", text: "succeeded", tone: "good" };
}

export function ExtrinsicTable(props: { rows: readonly Extrinsic[] }) {
  if (props.rows.length === 0) return <Empty>This block has no extrinsics.</Empty>;
  return (
    <DataTable
      label="Extrinsics"
      rows={props.rows}
      keyOf={(row) => row.index}
      columns={[
        { title: "Index", right: true, cell: (row) => row.index },
        { title: "Call", cell: (row) => <code>{row.call ?? "not in the index"}</code> },
        { title: "Result", cell: (row) => <Status phrase={extrinsicPhrase(row)} /> },
        {
          title: "Signer",
          minor: true,
          cell: (row) => (row.signer === null ? "the block's author" : <Address account={row.signer} />),
        },
        {
          title: "Fee",
          right: true,
          minor: true,
          cell: (row) => (row.fee === null ? "none" : <Amount value={row.fee} digits={6} />),
        },
        { title: "Hash", cell: (row) => <Hash hash={row.hash} href={`/extrinsics/${row.hash}`} /> },
      ]}
    />
  );
}
