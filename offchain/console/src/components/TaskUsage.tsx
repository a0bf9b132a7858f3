/** Processors, memory and GPUs that the pods of a task use over time, for its tenant and for operators. */

import { lazy } from "preact-iso";
import { useMemo } from "preact/hooks";
import type { TaskUsage as Measured } from "../api/monitoring_types.ts";
import type { Task } from "../api/types.ts";
import { USAGE_CHARTS, usageLines, type UsageChart } from "../lib/task_usage.ts";
import { useWallet } from "../wallet/session.ts";
import { Empty } from "./loading.tsx";
import { Measurements } from "./Measurements.tsx";

const TimeChart = lazy(() => import("./TimeChart.tsx").then((module) => module.TimeChart));

/** Nothing for others: measurements are not public. */
export function TaskUsage(props: { task: Task }) {
  const { session } = useWallet();
  const { task } = props;
  const maySee = session !== null && (session.account === task.tenant || session.roles.includes("operator"));
  if (!maySee) return null;
  return (
    <Measurements<Measured> title="Usage" path={`/v1/tasks/${task.task}/usage`}>
      {(measured) => <AllCharts measured={measured} />}
    </Measurements>
  );
}

function AllCharts(props: { measured: Measured }) {
  const { measured } = props;
  if (measured.pods.length === 0) {
    return (
      <Empty>
        Prometheus has no measurements of its pods: none ran in this time, or the agents of their hosts are not among
        the targets with the label <code>host</code>.
      </Empty>
    );
  }
  return (
    <>
      {USAGE_CHARTS.map((chart) => (
        <Usage key={chart.name} chart={chart} measured={measured} />
      ))}
    </>
  );
}

function Usage(props: { chart: UsageChart; measured: Measured }) {
  const { chart, measured } = props;
  const lines = useMemo(() => usageLines(measured.pods, chart), [measured, chart]);
  if (lines.length === 0) return null;
  return (
    <TimeChart label={chart.label} unit={chart.unit} digits={chart.digits} timesMs={measured.times_ms} lines={lines} />
  );
}
