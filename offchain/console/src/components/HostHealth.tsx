/** Hosts of a provider that need attention: offline, suspended, with unhealthy or challenged GPUs. */

import { useAllPages } from "../api/hooks.ts";
import type { Device, Host } from "../api/types.ts";
import { DeviceTable } from "./DeviceTable.tsx";
import { ProblemNotice } from "./loading.tsx";
import { Address, Status } from "./parts.tsx";
import { hostPhrase, type Phrase } from "../lib/states.ts";

const UNHEALTHY: Phrase = { icon: "failed", text: "unhealthy", tone: "bad" };
const CHALLENGED: Phrase = { icon: "flag", text: "being challenged", tone: "warn" };
const WELL: Phrase = {
  icon: "done",
  text: "no host is offline or suspended, no GPU is unhealthy or challenged",
  tone: "good",
};

export function HostHealth(props: { provider: string; hosts: readonly Host[] }) {
  const devices = useAllPages<Device>(`/v1/devices?provider=${encodeURIComponent(props.provider)}&limit=500`);
  const bad = (devices.data ?? []).filter((device) => !device.healthy || device.challenged);
  const away = props.hosts.filter((host) => /^(Offline|Suspended)/.test(host.status));
  return (
    <section class="stack">
      <h2>Needs attention</h2>
      {devices.problem !== null && <ProblemNotice problem={devices.problem} />}
      {devices.data !== null && bad.length + away.length === 0 && (
        <p>
          <Status phrase={WELL} />
        </p>
      )}
      <ul>
        {away.map((host) => (
          <li key={host.host}>
            <Address account={host.host} kind="host" /> <Status phrase={hostPhrase(host.status)} />
          </li>
        ))}
        {bad.map((device) => (
          <li key={`${device.host} ${device.index}`}>
            <Address account={device.host} kind="host" /> GPU {device.index}, {device.model}:{" "}
            <Status phrase={device.healthy ? CHALLENGED : UNHEALTHY} />
          </li>
        ))}
      </ul>
      <h2>GPUs</h2>
      {devices.data !== null && <DeviceTable rows={devices.data} showsHost />}
      {!devices.isComplete && <p class="muted small">The first {devices.data?.length} GPUs are shown here.</p>}
    </section>
  );
}
