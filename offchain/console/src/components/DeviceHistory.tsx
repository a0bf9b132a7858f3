/** Utilisation, temperature, power, clocks and links of a host's GPUs over time, for its provider and for operators. */

import { lazy } from "preact-iso";
import { useMemo } from "preact/hooks";
import type { DeviceHistory as Measured, DeviceSeries } from "../api/monitoring_types.ts";
import { DEVICE_CHARTS, deviceLines, type DeviceChart } from "../lib/device_charts.ts";
import { useWallet } from "../wallet/session.ts";
import { Empty } from "./loading.tsx";
import { Measurements } from "./Measurements.tsx";

const TimeChart = lazy(() => import("./TimeChart.tsx").then((module) => module.TimeChart));

/** Nothing for others: measurements are not public. `provider`: of the host. */
export function DeviceHistory(props: { host: string; provider: string }) {
  const { session } = useWallet();
  const maySee = session !== null && (session.account === props.provider || session.roles.includes("operator"));
  if (!maySee) return null;
  return (
    <Measurements<Measured>
      title="Measurements of its GPUs"
      path={`/v1/hosts/${encodeURIComponent(props.host)}/measurements`}
    >
      {(measured) => <AllCharts measured={measured} />}
    </Measurements>
  );
}

function AllCharts(props: { measured: Measured }) {
  const { devices, times_ms: timesMs } = props.measured;
  if (devices.length === 0) {
    return (
      <Empty>
        Prometheus has no measurements of this host: its GPUs are simulated, or its agent is not among the targets with
        the label <code>host</code>.
      </Empty>
    );
  }
  return (
    <>
      {DEVICE_CHARTS.map((chart) => (
        <Measurement key={chart.label} chart={chart} devices={devices} timesMs={timesMs} />
      ))}
    </>
  );
}

function Measurement(props: { chart: DeviceChart; devices: readonly DeviceSeries[]; timesMs: readonly number[] }) {
  const { chart, devices } = props;
  const lines = useMemo(() => deviceLines(devices, chart), [devices, chart]);
  if (lines.length === 0) return null;
  return (
    <TimeChart label={chart.label} unit={chart.unit} timesMs={props.timesMs} lines={lines} digits={chart.digits} />
  );
}
