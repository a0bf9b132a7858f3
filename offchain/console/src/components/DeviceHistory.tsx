/** Utilisation, temperature, power and clocks of a host's GPUs over time, for its provider and for operators. */

import { lazy } from "preact-iso";
import { useEffect, useMemo, useState } from "preact/hooks";
import { useResource } from "../api/hooks.ts";
import type { DeviceHistory as Measured, DeviceSeries } from "../api/monitoring_types.ts";
import type { ResourceAnswer } from "../api/types.ts";
import { useWallet } from "../wallet/session.ts";
import { Empty, Load } from "./loading.tsx";

const TimeChart = lazy(() => import("./TimeChart.tsx").then((module) => module.TimeChart));
const REFRESH_MS = 60_000;
const SPANS = [
  [1, "1 hour"],
  [24, "24 hours"],
  [168, "7 days"],
] as const;
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
  return maySee ? <Charts host={props.host} /> : null;
}

function Charts(props: { host: string }) {
  const [hours, setHours] = useState(24);
  const found = useResource<ResourceAnswer<Measured>>(
    `/v1/hosts/${encodeURIComponent(props.host)}/measurements?hours=${hours}`,
  );
  const { reload } = found;
  const isOff = found.problem?.code === "monitoring_off";
  useEffect(() => {
    if (isOff) return undefined;
    const timer = setInterval(reload, REFRESH_MS);
    return () => clearInterval(timer);
  }, [reload, isOff]);
  return (
    <section class="stack" aria-label="Measurements">
      <h2>Measurements of its GPUs</h2>
      {isOff ? (
        <Empty>This gateway reads no Prometheus, so it has no measurements.</Empty>
      ) : (
        <>
          <label class="field no-print">
            Time
            <select value={hours} onChange={(event) => setHours(Number(event.currentTarget.value))}>
              {SPANS.map(([span, name]) => (
                <option key={span} value={span}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          <Load of={found} what="measurements">
            {({ data }) => <AllCharts measured={data} />}
          </Load>
        </>
      )}
    </section>
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
