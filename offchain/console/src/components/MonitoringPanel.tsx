/** Alerts and processes as the operator's Prometheus has them: for accounts with the role of an operator. */

import { useEffect } from "preact/hooks";
import { useResource } from "../api/hooks.ts";
import type { Alert, MonitoredProcess, Monitoring } from "../api/monitoring_types.ts";
import type { ResourceAnswer } from "../api/types.ts";
import type { Phrase } from "../lib/states.ts";
import { useWallet } from "../wallet/session.ts";
import { DataTable } from "./DataTable.tsx";
import { Empty, Load } from "./loading.tsx";
import { Address, Status, Time } from "./parts.tsx";
import { RestartProcess } from "./RestartProcess.tsx";

const REFRESH_MS = 5_000;
const UP: Phrase = { icon: "online", text: "answers", tone: "good" };
const DOWN: Phrase = { icon: "failed", text: "does not answer", tone: "bad" };

export function MonitoringPanel() {
  const { session } = useWallet();
  const isOperator = session?.roles.includes("operator") === true;
  return (
    <section class="stack" aria-label="Alerts">
      <h2>Alerts</h2>
      {isOperator ? (
        <Panel />
      ) : (
        <p class="muted">
          <a href="/account">Sign in</a> with an account that this gateway knows as an operator to see the alerts and
          processes of Prometheus.
        </p>
      )}
    </section>
  );
}

function Panel() {
  const found = useResource<ResourceAnswer<Monitoring>>("/v1/monitoring");
  const { reload } = found;
  const isOff = found.problem?.code === "monitoring_off";
  useEffect(() => {
    if (isOff) return undefined;
    const timer = setInterval(reload, REFRESH_MS);
    return () => clearInterval(timer);
  }, [reload, isOff]);
  if (isOff) {
    return (
      <Empty>
        This gateway reads no Prometheus. Start it with <code>--prometheus URL</code>.
      </Empty>
    );
  }
  return (
    <Load of={found} what="alerts">
      {({ data }) => (
        <>
          <Alerts rows={data.alerts} />
          <h2>Processes</h2>
          <Processes rows={data.processes} />
        </>
      )}
    </Load>
  );
}

function alertPhrase(alert: Alert): Phrase {
  if (alert.state === "pending") return { icon: "waiting", text: "pending", tone: "idle" };
  return alert.severity === "page"
    ? { icon: "failed", text: "now", tone: "bad" }
    : { icon: "flag", text: "within a day", tone: "warn" };
}

function Alerts(props: { rows: readonly Alert[] }) {
  if (props.rows.length === 0) {
    return (
      <p>
        <Status phrase={{ icon: "done", text: "no alert", tone: "good" }} />
      </p>
    );
  }
  return (
    <DataTable
      label="Alerts"
      rows={props.rows}
      keyOf={(row) => `${row.name} ${row.summary} ${row.since_ms}`}
      columns={[
        { title: "To do", cell: (row) => <Status phrase={alertPhrase(row)} /> },
        { title: "Alert", cell: (row) => row.name },
        { title: "What", cell: (row) => row.summary },
        { title: "Host", cell: (row) => (row.host === null ? "" : <Address account={row.host} kind="host" />) },
        { title: "Since", minor: true, cell: (row) => <Time ms={row.since_ms} /> },
        { title: "Runbook", minor: true, cell: (row) => <code>{row.runbook}</code> },
      ]}
    />
  );
}

function Processes(props: { rows: readonly MonitoredProcess[] }) {
  if (props.rows.length === 0) return <Empty>Prometheus scrapes nothing.</Empty>;
  const number = (value: number | null): string => (value === null ? "" : String(value));
  return (
    <DataTable
      label="Processes"
      rows={props.rows}
      keyOf={(row) => `${row.job} ${row.instance}`}
      columns={[
        { title: "Process", cell: (row) => row.job },
        { title: "Address", minor: true, cell: (row) => <code>{row.instance}</code> },
        { title: "Host", cell: (row) => (row.host === null ? "" : <Address account={row.host} kind="host" />) },
        { title: "State", cell: (row) => <Status phrase={row.up ? UP : DOWN} /> },
        { title: "Calls in the outbox", right: true, cell: (row) => number(row.waiting_calls) },
        { title: "Dead letters", right: true, cell: (row) => number(row.dead_letters) },
        { title: "Restart", minor: true, cell: (row) => <RestartProcess process={row} /> },
      ]}
    />
  );
}
