import type { Device } from "../api/types.ts";
import type { Phrase } from "../lib/states.ts";
import { DataTable } from "./DataTable.tsx";
import { Empty } from "./loading.tsx";
import { Address, Status } from "./parts.tsx";

function devicePhrase(device: Device): Phrase {
  if (!device.healthy) return { icon: "failed", text: "unhealthy", tone: "bad" };
  if (device.challenged) return { icon: "flag", text: "being challenged", tone: "warn" };
  if (device.milli_free === 1000) return { icon: "free", text: "free", tone: "good" };
  if (device.milli_free === 0) return { icon: "running", text: "leased", tone: "busy" };
  return { icon: "half", text: `${device.milli_free / 10} % free`, tone: "busy" };
}

/** Marks simulated GPUs, which compute nothing. */
export function Simulated(props: { simulated: boolean }) {
  if (!props.simulated) return null;
  return (
    <>
      {" "}
      <Status phrase={{ icon: "simulated", text: "simulated", tone: "warn" }} />
    </>
  );
}

export function DeviceTable(props: { rows: readonly Device[]; showsHost?: boolean }) {
  if (props.rows.length === 0) return <Empty>There is no GPU.</Empty>;
  return (
    <DataTable
      label="Devices"
      rows={props.rows}
      keyOf={(row) => `${row.host} ${row.index}`}
      columns={[
        ...(props.showsHost === true
          ? [{ title: "Host", cell: (row: Device) => <Address account={row.host} kind="host" /> }]
          : []),
        { title: "Index", right: true, cell: (row) => row.index },
        {
          title: "Model",
          cell: (row) => (
            <>
              {row.model}
              <Simulated simulated={row.simulated} />
            </>
          ),
        },
        { title: "Memory", right: true, cell: (row) => `${Math.round(row.vram_mib / 1024)} GiB` },
        { title: "State", cell: (row) => <Status phrase={devicePhrase(row)} /> },
        { title: "Genuine", minor: true, cell: (row) => (row.attested ? "proved by a challenge" : "not proved") },
        {
          title: "Shared by",
          minor: true,
          cell: (row) => (row.shared_by === null ? "" : <Address account={row.shared_by} />),
        },
      ]}
    />
  );
}
