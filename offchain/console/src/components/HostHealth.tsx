/** Hosts of a provider that need attention: offline, suspended, with unhealthy or challenged GPUs. */

import { useEffect, useState } from "preact/hooks";
import { asProblem, type Problem, request } from "../api/client.ts";
import type { Device, Host, Page } from "../api/types.ts";
import { DeviceTable } from "./DeviceTable.tsx";
import { ProblemNotice } from "./loading.tsx";
import { Address, Status } from "./parts.tsx";
import { hostPhrase, type Phrase } from "../lib/states.ts";

/** Hosts whose devices are read, one after the other. */
const MOST_HOSTS = 50;
const UNHEALTHY: Phrase = { icon: "failed", text: "unhealthy", tone: "bad" };
const CHALLENGED: Phrase = { icon: "flag", text: "being challenged", tone: "warn" };
const WELL: Phrase = {
  icon: "done",
  text: "no host is offline or suspended, no GPU is unhealthy or challenged",
  tone: "good",
};

export function HostHealth(props: { hosts: readonly Host[] }) {
  const [devices, setDevices] = useState<Device[] | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const names = props.hosts.slice(0, MOST_HOSTS).map((host) => host.host);
  const key = names.join(" ");
  useEffect(() => {
    const controller = new AbortController();
    const read = async (): Promise<void> => {
      const found: Device[] = [];
      for (const name of key === "" ? [] : key.split(" ")) {
        const path = `/v1/devices?host=${encodeURIComponent(name)}&limit=100`;
        found.push(...(await request<Page<Device>>(path, { signal: controller.signal })).data);
      }
      setDevices(found);
      setProblem(null);
    };
    read().catch((error: unknown) => {
      if (!controller.signal.aborted) setProblem(asProblem(error));
    });
    return () => controller.abort();
  }, [key]);
  const bad = (devices ?? []).filter((device) => !device.healthy || device.challenged);
  const away = props.hosts.filter((host) => /^(Offline|Suspended)/.test(host.status));
  return (
    <section class="stack">
      <h2>Needs attention</h2>
      {problem !== null && <ProblemNotice problem={problem} />}
      {devices !== null && bad.length + away.length === 0 && (
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
      {devices !== null && <DeviceTable rows={devices} showsHost />}
      {props.hosts.length > MOST_HOSTS && (
        <p class="muted small">GPUs of the first {MOST_HOSTS} hosts are shown here.</p>
      )}
    </section>
  );
}
