/** Hosts: the list, and one with its devices, prices, leases and events. */

import { useState } from "preact/hooks";
import { useLocation, useRoute } from "preact-iso";
import { useResource, useThrottled } from "../api/hooks.ts";
import { useEventStream } from "../api/stream.ts";
import type { Challenge } from "../api/matter_types.ts";
import type { Device, Event, Host, Lease, Offer, Page, ResourceAnswer } from "../api/types.ts";
import { PageTable } from "../components/DataTable.tsx";
import { DeviceHistory } from "../components/DeviceHistory.tsx";
import { DeviceTable } from "../components/DeviceTable.tsx";
import { EventList } from "../components/EventList.tsx";
import { HostTable } from "../components/HostTable.tsx";
import { HostTrust } from "../components/HostTrust.tsx";
import { Live } from "../components/Live.tsx";
import { Empty, Load } from "../components/loading.tsx";
import { Address, Amount, Facts, Heading, Status, Time, Wrong } from "../components/parts.tsx";
import { Verify } from "../components/Verify.tsx";
import { isAddress, shortAddress } from "../lib/address.ts";
import { HOST_STATUSES, hostPhrase, leasePhrase } from "../lib/states.ts";
import { apiQuery, stateOf, urlWith } from "../lib/url_state.ts";

const DEFAULTS = { status: "", provider: "", after: "" };
const REFRESH_MS = 1_000;

export function Hosts() {
  const { query, route } = useLocation();
  const state = stateOf(query, DEFAULTS);
  const hosts = useResource<Page<Host>>(`/v1/hosts${apiQuery(state)}`);
  const [wrong, setWrong] = useState("");
  const to = (change: Partial<typeof DEFAULTS>): string => urlWith("/hosts", { ...state, after: "", ...change });
  return (
    <>
      <Heading title="Hosts" />
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <label class="field">
          Status
          <select value={state.status} onChange={(event) => route(to({ status: event.currentTarget.value }))}>
            <option value="">all</option>
            {HOST_STATUSES.map((one) => (
              <option key={one} value={one}>
                {hostPhrase(one).text.split(":", 1)[0]}
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          Provider (address)
          <input
            value={state.provider}
            maxLength={64}
            onChange={(event) => {
              const provider = event.currentTarget.value.trim();
              const isUsable = provider === "" || isAddress(provider);
              setWrong(isUsable ? "" : `“${provider}” is no address. It has 46 to 49 letters and digits.`);
              if (isUsable) route(to({ provider }));
            }}
          />
        </label>
      </form>
      <Wrong>{wrong}</Wrong>
      <HostTable of={hosts} pageHref={(after) => to({ after })} isFirst={state.after === ""} />
    </>
  );
}

export function HostPage() {
  const { params } = useRoute();
  const address = params["host"] ?? "";
  const name = encodeURIComponent(address);
  const host = useResource<ResourceAnswer<Host>>(`/v1/hosts/${name}`);
  const isKnown = host.data !== null;
  const of = (path: string): string | null => (isKnown ? path : null);
  const offers = useResource<Page<Offer>>(of(`/v1/offers?host=${name}&status=any&limit=100`));
  const devices = useResource<Page<Device>>(of(`/v1/devices?host=${name}&limit=100`));
  const leases = useResource<Page<Lease>>(of(`/v1/leases?host=${name}&limit=50`));
  const challenges = useResource<Page<Challenge>>(of(`/v1/challenges?host=${name}&limit=10`));
  const events = useResource<Page<Event>>(of(`/v1/events?subject=${name}&limit=50&documented=true`));
  const reload = useThrottled(() => {
    for (const one of [host, offers, devices, leases, challenges, events]) one.reload();
  }, REFRESH_MS);
  const stream = useEventStream(isKnown ? { subject: address } : null, reload);
  return (
    <>
      <Heading title={`Host ${shortAddress(address)}`} aside={isKnown && <Live state={stream} />}>
        {host.data !== null && <Status phrase={hostPhrase(host.data.data.status)} />}
      </Heading>
      <Load of={host} what="the host">
        {({ data }) => (
          <>
            <section class="card">
              <HostFacts host={data} offer={offers.data?.data[0]} />
            </section>
            <section class="stack">
              <h2>Devices</h2>
              <Load of={devices} what="devices">
                {(page) => <DeviceTable rows={page.data} />}
              </Load>
            </section>
            <HostTrust
              host={data}
              devices={devices.data?.data}
              challenges={challenges}
              latest={events.data?.data ?? []}
            />
            <DeviceHistory host={data.host} provider={data.provider} />
            <section class="stack">
              <h2>Price list</h2>
              <Load of={offers} what="prices">
                {(page) =>
                  page.data[0] === undefined ? (
                    <Empty>The index has not read its prices yet.</Empty>
                  ) : (
                    <Prices offer={page.data[0]} />
                  )
                }
              </Load>
            </section>
            <section class="stack">
              <h2>Leases</h2>
              <PageTable<Lease>
                label="Leases"
                what="leases"
                of={leases}
                empty="It had no lease yet."
                keyOf={(row) => row.lease}
                columns={[
                  { title: "Lease", cell: (row) => <a href={`/leases/${row.lease}`}>{row.lease}</a> },
                  { title: "Task", cell: (row) => <a href={`/tasks/${row.task}`}>{row.task}</a> },
                  { title: "State", cell: (row) => <Status phrase={leasePhrase(row.state, row.reason)} /> },
                  { title: "Assigned", minor: true, cell: (row) => <Time ms={row.assigned_ms} /> },
                  {
                    title: "Rate per hour",
                    right: true,
                    cell: (row) => <Amount value={row.rate_per_hour} digits={6} />,
                  },
                  { title: "Paid", right: true, cell: (row) => <Amount value={row.paid} digits={6} /> },
                ]}
              />
            </section>
            <section class="stack">
              <h2>Latest events</h2>
              <Load of={events} what="events">
                {(page) => <EventList events={page.data} isComplete={page.next === null} showsTime />}
              </Load>
            </section>
            <Verify subject={`host ${data.host}`} file="host.proof" />
          </>
        )}
      </Load>
    </>
  );
}

function HostFacts(props: { host: Host; offer: Offer | undefined }) {
  const { host, offer } = props;
  return (
    <Facts
      facts={[
        ["Address", <Address account={host.host} whole />],
        ["Provider", <Address account={host.provider} whole />],
        ["Region", offer?.region === "" ? "not given" : offer?.region],
        ["Class", offer?.tier],
        ["Bond", offer && <Amount value={offer.bond} />],
        ["Bond required", offer && <Amount value={offer.bond_required} />],
        ["Processors", offer && `${offer.free.cpu_milli / 1000} of ${offer.total.cpu_milli / 1000} cores free`],
        ["Memory", offer && `${offer.free.memory_mib} of ${offer.total.memory_mib} MiB free`],
        ["Disk", offer && `${offer.free.disk_gib} of ${offer.total.disk_gib} GiB free`],
        ["Network", offer && `${offer.network_mbps_down} Mbit/s down, ${offer.network_mbps_up} Mbit/s up`],
        ["Capabilities", offer && (offer.capabilities.join(", ") || "none")],
        ["Leases so far", host.leases],
        ["Earned", <Amount value={host.earned} />],
        ["Registered", <Time ms={host.registered_ms} />],
        ["Last change", <Time ms={host.changed_ms} />],
      ]}
    />
  );
}

function Prices(props: { offer: Offer }) {
  const { ask } = props.offer;
  const factor = (ppm: number): string => (ppm === 0 ? "not offered" : `× ${ppm / 1_000_000}`);
  return (
    <div class="card">
      <Facts
        facts={[
          ...ask.gpu.map((price) => [`${price.model}, per hour`, <Amount value={price.per_hour} />] as const),
          ["Any other GPU, per hour", <Amount value={ask.gpu_per_hour} />],
          ["Core, per hour", <Amount value={ask.cpu_core_per_hour} />],
          ["GiB of memory, per hour", <Amount value={ask.memory_gib_per_hour} />],
          ["GiB of disk, per hour", <Amount value={ask.disk_gib_per_hour} />],
          ["GiB sent", <Amount value={ask.network_gib} />],
          ["GiB of a stopped rental, per hour", <Amount value={ask.storage_gib_per_hour} />],
          ["Billed by the second", factor(ask.second_ppm)],
          ["Billed by the hour", factor(ask.hour_ppm)],
          ["Billed by the day", factor(ask.day_ppm)],
        ]}
      />
    </div>
  );
}
