/** The state of the network for its operator: problems first, then queues, schedulers, hosts. */

import { useEffect, useState } from "preact/hooks";
import { useAllPages, useBlock, useResource, useThrottled } from "../api/hooks.ts";
import type { QueueDefinitions, Scheduler } from "../api/matter_types.ts";
import { useBlockTicks } from "../api/ticks.ts";
import type { Device, Host, Network, Offer, Page, ResourceAnswer, Task, TaskCount } from "../api/types.ts";
import { CallDialog } from "../components/CallDialog.tsx";
import { DataTable } from "../components/DataTable.tsx";
import { HostGroups } from "../components/HostGroups.tsx";
import { HostTable } from "../components/HostTable.tsx";
import { Live } from "../components/Live.tsx";
import { Empty, Load } from "../components/loading.tsx";
import { MonitoringPanel } from "../components/MonitoringPanel.tsx";
import { Address, Facts, Hash, Heading, Status, Tile, Time } from "../components/parts.tsx";
import { Queues, Schedulers } from "../components/Schedulers.tsx";
import { Validators } from "../components/Validators.tsx";
import { findings, type HealthFacts } from "../lib/network_health.ts";
import { hostPhrase, taskPhrase } from "../lib/states.ts";
import { formatDuration } from "../lib/time.ts";
import type { CallChoice } from "../wallet/calls.ts";
import { useWallet } from "../wallet/session.ts";

/** Lists of all hosts and devices are long on a large network. */
const REFRESH_LONG_MS = 10_000;
const CLOCK_MS = 5_000;
const WATCHED = ["Queued", "Assigned", "Running", "Reported", "Verified", "Disputed"] as const;
const MOST_HOST_PAGES = 20;

function useClock(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), CLOCK_MS);
    return () => clearInterval(timer);
  }, []);
  return now;
}

function countText(counts: readonly TaskCount[], state: string): string {
  const found = counts.find((one) => one.state === state);
  return found === undefined ? "0" : `${found.tasks}${found.more ? " or more" : ""}`;
}

export function Operator() {
  const network = useResource<ResourceAnswer<Network>>("/v1/network");
  const hosts = useAllPages<Host>("/v1/hosts?limit=500", MOST_HOST_PAGES);
  const devices = useAllPages<Device>("/v1/devices?limit=500", MOST_HOST_PAGES);
  const offers = useAllPages<Offer>("/v1/offers?status=any&limit=500", MOST_HOST_PAGES);
  const [chosen, setChosen] = useState<{ title: string; call: CallChoice } | null>(null);
  const { signer } = useWallet();
  const counts = useResource<Page<TaskCount>>("/v1/tasks/counts");
  const queued = useResource<Page<Task>>("/v1/tasks?state=Queued&order=oldest&limit=500");
  const schedulers = useAllPages<Scheduler>("/v1/schedulers?limit=500", 4);
  const queues = useAllPages<QueueDefinitions>("/v1/queues?limit=500", 2);
  const refreshLong = useThrottled(() => {
    for (const one of [hosts, offers, devices, schedulers, queues]) one.reload();
  }, REFRESH_LONG_MS);
  const stream = useBlockTicks(() => {
    for (const one of [network, counts, queued]) one.reload();
    refreshLong();
  });
  const block = useBlock();
  const now = useClock();
  const facts: HealthFacts = {
    nowMs: now,
    blockMs: block?.time_ms ?? null,
    hosts: hosts.data ?? [],
    devices: devices.data ?? [],
    queued: queued.data?.data ?? [],
    disputed: counts.data?.data.find((one) => one.state === "Disputed")?.tasks ?? 0,
    // Schedulers of the genesis block are not known before their first event.
    schedulers:
      schedulers.data === null || schedulers.data.length === 0
        ? null
        : schedulers.data.filter((one) => one.state === "Bonded").length,
  };
  return (
    <>
      <Heading title="Operator" aside={<Live state={stream} />}>
        Problems of the network, its queues, schedulers and hosts.
      </Heading>
      <section class="stack" aria-live="polite">
        <h2>Problems</h2>
        {hosts.data === null || block === null ? <p class="muted">Looking …</p> : <Findings facts={facts} />}
      </section>
      <MonitoringPanel />
      <section class="stack">
        <h2>Tasks</h2>
        <ul class="tiles" aria-label="Tasks by state">
          {WATCHED.map((state) => (
            <Tile key={state} name={taskPhrase(state).text.split(":", 1)[0] ?? state}>
              <a href={`/tasks?state=${state}`}>{counts.data === null ? "…" : countText(counts.data.data, state)}</a>
            </Tile>
          ))}
        </ul>
        <LongestWaiting tasks={queued.data?.data ?? []} blockMs={facts.blockMs} />
      </section>
      <section class="stack">
        <h2>Schedulers</h2>
        <Schedulers of={schedulers} />
      </section>
      <section class="stack">
        <h2>Queues</h2>
        <Queues of={queues} />
      </section>
      <section class="stack">
        <h2>Hosts</h2>
        <Load of={hosts} what="hosts">
          {(rows) => (
            <>
              <HostCounts hosts={rows} />
              <HostTable
                of={{ ...hosts, data: { as_of: { number: 0, hash: "", time_ms: 0 }, data: rows, next: null } }}
                empty="No host is registered."
              />
            </>
          )}
        </Load>
      </section>
      {(hosts.data?.length ?? 0) > 0 && (
        <HostGroups
          hosts={hosts.data ?? []}
          offers={offers.data ?? []}
          account={signer?.address ?? null}
          onChoose={(title, call) => setChosen({ title, call })}
        />
      )}
      {chosen !== null && (
        <CallDialog
          {...chosen}
          onClose={() => setChosen(null)}
          onFinal={() => {
            hosts.reload();
            offers.reload();
          }}
        />
      )}
      <Validators />
      <section class="stack">
        <h2>Network</h2>
        <Load of={network} what="the network">
          {({ data, as_of }) => (
            <div class="card">
              <Facts
                facts={[
                  ["Genesis hash", <Hash hash={data.genesis_hash} whole />],
                  ["Last final block of the index", <a href={`/blocks/${as_of.number}`}>{as_of.number}</a>],
                  ["Its time", <Time ms={as_of.time_ms} />],
                  ["Events are kept from block", data.events_from_block],
                  ["Development network", data.development ? "yes" : "no"],
                  ["Sign-in at this gateway", data.sign_in ? "on" : "off"],
                  ["Building and sending extrinsics", data.signing ? "on" : "off: this gateway has no node"],
                ]}
              />
            </div>
          )}
        </Load>
      </section>
    </>
  );
}

function Findings(props: { facts: HealthFacts }) {
  const found = findings(props.facts);
  if (found.length === 0) {
    return (
      <p>
        <Status phrase={{ icon: "done", text: "no problem found", tone: "good" }} />
      </p>
    );
  }
  return (
    <ul>
      {found.map((one) => (
        <li key={one.text}>
          <Status phrase={{ icon: one.severity === "bad" ? "failed" : "flag", text: one.text, tone: one.severity }} />
        </li>
      ))}
    </ul>
  );
}

function LongestWaiting(props: { tasks: readonly Task[]; blockMs: number | null }) {
  const rows = [...props.tasks].sort((one, other) => one.changed_ms - other.changed_ms).slice(0, 10);
  if (rows.length === 0) return <Empty>No task waits for a host.</Empty>;
  return (
    <DataTable
      label="Tasks that wait longest"
      rows={rows}
      keyOf={(row) => row.task}
      columns={[
        { title: "Task", cell: (row) => <a href={`/tasks/${row.task}`}>{row.task}</a> },
        { title: "Kind", cell: (row) => row.kind.toLowerCase() },
        {
          title: "Waits",
          right: true,
          cell: (row) => (props.blockMs === null ? "" : formatDuration(props.blockMs - row.changed_ms)),
        },
        { title: "Failed attempts", right: true, cell: (row) => row.failures },
        { title: "Tenant", minor: true, cell: (row) => <Address account={row.tenant} /> },
      ]}
    />
  );
}

function HostCounts(props: { hosts: readonly Host[] }) {
  const counts = new Map<string, number>();
  for (const host of props.hosts) counts.set(host.status, (counts.get(host.status) ?? 0) + 1);
  return (
    <ul class="tiles" aria-label="Hosts by status">
      {[...counts].map(([status, number]) => (
        <Tile key={status} name={hostPhrase(status).text}>
          <a href={`/hosts?status=${encodeURIComponent(status)}`}>{number}</a>
        </Tile>
      ))}
    </ul>
  );
}
