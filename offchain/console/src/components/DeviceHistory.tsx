/** Utilisation, temperature, power and clocks of a host's GPUs over time, for its provider and for operators. */

import { lazy } from "preact-iso";
import { useMemo } from "preact/hooks";
import type { DeviceHistory as Measured, DeviceSeries } from "../api/monitoring_types.ts";
import { useWallet } from "../wallet/session.ts";
import { Empty } from "./loading.tsx";
import { Measurements } from "./Measurements.tsx";

const TimeChart = lazy(() => import("./TimeChart.tsx").then((module) => module.TimeChart));
const CHARTS = [
  ["utilisation_percent", "Utilisation", "%"],
  ["temperature_celsius", "Temperature", "°C"],
  ["power_watts", "Power", "W"],
  ["sm_clock_mhz", "Clock", "MHz"],
] as const;

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
      {CHARTS.map(([name, label, unit]) => (
        <Measurement key={name} name={name} label={label} unit={unit} devices={devices} timesMs={timesMs} />
      ))}
    </>
  );
}

function Measurement(props: {
  name: Exclude<keyof DeviceSeries, "device">;
  label: string;
  unit: string;
  devices: readonly DeviceSeries[];
  timesMs: readonly number[];
}) {
  const { name, devices, timesMs } = props;
  const lines = useMemo(
    () => devices.map((one) => ({ name: `GPU ${one.device}`, values: one[name] })),
    [devices, name],
  );
  return <TimeChart label={props.label} unit={props.unit} timesMs={timesMs} lines={lines} />;
}
