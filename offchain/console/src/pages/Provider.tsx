/** A provider's hosts: health and earnings at a glance, prices beside the market's, drain and claim. */

import { useMemo, useState } from "preact/hooks";
import { lazy, useLocation } from "preact-iso";
import { useAllPages, useResource, useThrottled } from "../api/hooks.ts";
import { useEventStream } from "../api/stream.ts";
import type { Market } from "../api/market_types.ts";
import type { Host, Movement, Offer, Page } from "../api/types.ts";
import { CallDialog } from "../components/CallDialog.tsx";
import { DataTable } from "../components/DataTable.tsx";
import { Simulated } from "../components/DeviceTable.tsx";
import { HostHealth } from "../components/HostHealth.tsx";
import { Live } from "../components/Live.tsx";
import { Empty, Load } from "../components/loading.tsx";
import { Address, Amount, Heading, Status, Tile, Time, Wrong } from "../components/parts.tsx";
import { HostGroups } from "../components/HostGroups.tsx";
import { PriceForm } from "../components/PriceForm.tsx";
import { isAddress } from "../lib/address.ts";
import { earningsByDay } from "../lib/earnings.ts";
import { sum } from "../lib/money.ts";
import { hostPhrase } from "../lib/states.ts";
import { dayOf } from "../lib/time.ts";
import { urlWith } from "../lib/url_state.ts";
import type { CallChoice } from "../wallet/calls.ts";
import { useWallet } from "../wallet/session.ts";

const DayChart = lazy(() => import("../components/Chart.tsx").then((module) => module.DayChart));
const DAYS = 14;
/** Pages of 500 movements that are read for the chart. */
const MOST_PAGES = 10;
const REFRESH_MS = 2_000;

interface Chosen {
  title: string;
  call: CallChoice;
}

export function Provider() {
  const { query, route } = useLocation();
  const { signer } = useWallet();
  const account = query["account"] ?? signer?.address ?? "";
  const [wrong, setWrong] = useState("");
  return (
    <>
      {account === "" ? (
        <>
          <Heading title="Provider" />
          <Empty>
            <a href="/account">Connect the account</a> of a provider, or name one:
          </Empty>
          <form
            class="filters"
            onSubmit={(event) => {
              event.preventDefault();
              const asked = String(new FormData(event.currentTarget).get("account") ?? "").trim();
              setWrong(isAddress(asked) ? "" : `“${asked}” is no address. It has 46 to 49 letters and digits.`);
              if (isAddress(asked)) route(urlWith("/provider", { account: asked }));
            }}
          >
            <label class="field">
              Address of a provider
              <input name="account" maxLength={64} />
            </label>
            <button type="submit">Show</button>
          </form>
          <Wrong>{wrong}</Wrong>
        </>
      ) : (
        <Dashboard account={account} isOwn={account === signer?.address} />
      )}
    </>
  );
}

function Dashboard(props: { account: string; isOwn: boolean }) {
  const name = encodeURIComponent(props.account);
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const hosts = useAllPages<Host>(`/v1/hosts?provider=${name}&limit=500`);
  const offers = useAllPages<Offer>(`/v1/offers?provider=${name}&status=any&limit=500`);
  const movements = useAllPages<Movement>(`/v1/accounts/${name}/movements?limit=500`, MOST_PAGES);
  const market = useResource<Page<Market>>("/v1/market?limit=500");
  const refresh = useThrottled(() => {
    for (const one of [hosts, offers, movements, market]) one.reload();
  }, REFRESH_MS);
  const stream = useEventStream({ subject: props.account }, refresh);
  const now = market.data?.as_of.time_ms ?? null;
  return (
    <>
      <Heading title="Provider" aside={<Live state={stream} />}>
        <Address account={props.account} />
      </Heading>
      <Load of={hosts} what="hosts">
        {(rows) => <Tiles hosts={rows} offers={offers.data ?? []} />}
      </Load>
      <section class="stack">
        <h2>Earnings</h2>
        <Load of={movements} what="earnings">
          {(rows) => now !== null && <Earnings movements={rows} nowMs={now} isComplete={movements.isComplete} />}
        </Load>
        <p>
          <a href={`/accounts/${name}`}>Every movement, and the CSV</a>
        </p>
      </section>
      <section class="stack">
        <h2>Hosts</h2>
        <Load of={hosts} what="hosts">
          {(rows) =>
            rows.length === 0 ? (
              <Empty>
                This account owns no host. <code>gantry agent join</code> makes this machine one.
              </Empty>
            ) : (
              <OwnHosts hosts={rows} isOwn={props.isOwn} onChoose={(title, call) => setChosen({ title, call })} />
            )
          }
        </Load>
      </section>
      {props.isOwn && (hosts.data?.length ?? 0) > 1 && (
        <HostGroups
          hosts={hosts.data ?? []}
          offers={offers.data ?? []}
          account={props.account}
          onChoose={(title, call) => setChosen({ title, call })}
        />
      )}
      <section class="stack">
        <h2>Prices beside the market</h2>
        <Load of={offers} what="prices">
          {(rows) => (
            <PriceTable
              offers={rows}
              market={market.data?.data ?? []}
              isOwn={props.isOwn}
              onChoose={(title, call) => setChosen({ title, call })}
            />
          )}
        </Load>
      </section>
      <HostHealth provider={props.account} hosts={hosts.data ?? []} />
      {chosen !== null && <CallDialog {...chosen} onClose={() => setChosen(null)} onFinal={refresh} />}
    </>
  );
}

function Earnings(props: { movements: readonly Movement[]; nowMs: number; isComplete: boolean }) {
  const today = dayOf(props.nowMs);
  // The chart is drawn again when its days change, and not with every block.
  const days = useMemo(() => earningsByDay(props.movements, props.nowMs, DAYS), [props.movements, today]);
  return (
    <>
      <ul class="tiles" aria-label="Earnings">
        <Tile name="Today (UTC)">
          <Amount value={days.at(-1)?.amount ?? 0n} digits={6} />
        </Tile>
        <Tile name={`Last ${DAYS} days`}>
          <Amount value={sum(days.map((one) => one.amount))} digits={6} />
        </Tile>
      </ul>
      <DayChart label={`Payments of leases by day, last ${DAYS} days, GTY`} days={days} />
      {!props.isComplete && (
        <p class="muted small">From the newest {props.movements.length} movements; earlier days may have more.</p>
      )}
    </>
  );
}

function Tiles(props: { hosts: readonly Host[]; offers: readonly Offer[] }) {
  const online = props.hosts.filter((host) => host.status === "Online").length;
  const gpus = props.offers.reduce((total, offer) => total + offer.gpus, 0);
  const free = props.offers.reduce((total, offer) => total + offer.gpus_free, 0);
  return (
    <ul class="tiles" aria-label="At a glance">
      <Tile name="Hosts online" note={`of ${props.hosts.length}`}>
        {online}
      </Tile>
      <Tile name="GPUs leased" note={`of ${gpus}`}>
        {gpus - free}
      </Tile>
      <Tile name="Earned so far">
        <Amount value={sum(props.hosts.map((host) => host.earned))} digits={4} />
      </Tile>
      <Tile name="Slashed so far">
        <Amount value={sum(props.hosts.map((host) => host.slashed))} digits={4} />
      </Tile>
    </ul>
  );
}

function OwnHosts(props: {
  hosts: readonly Host[];
  isOwn: boolean;
  onChoose: (title: string, call: CallChoice) => void;
}) {
  const actions = (host: Host) => (
    <span class="row">
      {host.status === "Online" && (
        <button
          type="button"
          onClick={() => props.onChoose("Drain the host", { action: "host.drain", host: host.host })}
        >
          Drain
        </button>
      )}
      {host.status === "Draining" && (
        <button
          type="button"
          onClick={() => props.onChoose("Take leases again", { action: "host.undrain", host: host.host })}
        >
          Undrain
        </button>
      )}
      <button type="button" onClick={() => props.onChoose("Claim earnings", { action: "host.claim", host: host.host })}>
        Claim
      </button>
    </span>
  );
  return (
    <DataTable
      label="Hosts of the provider"
      rows={props.hosts}
      keyOf={(row) => row.host}
      columns={[
        { title: "Host", cell: (row) => <Address account={row.host} kind="host" /> },
        { title: "Status", cell: (row) => <Status phrase={hostPhrase(row.status)} /> },
        {
          title: "Reputation",
          right: true,
          cell: (row) => (row.score_ppm === null ? "no rating" : `${(row.score_ppm / 10_000).toFixed(1)} %`),
        },
        { title: "Leases", right: true, minor: true, cell: (row) => row.leases },
        { title: "Earned", right: true, cell: (row) => <Amount value={row.earned} digits={6} /> },
        { title: "Slashed", right: true, minor: true, cell: (row) => <Amount value={row.slashed} digits={6} /> },
        { title: "Changed", minor: true, cell: (row) => <Time ms={row.changed_ms} /> },
        ...(props.isOwn ? [{ title: "Actions", cell: actions }] : []),
      ]}
    />
  );
}

function PriceTable(props: {
  offers: readonly Offer[];
  market: readonly Market[];
  isOwn: boolean;
  onChoose: (title: string, call: CallChoice) => void;
}) {
  if (props.offers.length === 0) return <Empty>The index has not read an offer of these hosts yet.</Empty>;
  const of = (offer: Offer): Market | undefined =>
    props.market.find((row) => row.model === offer.model && row.simulated === offer.simulated);
  return (
    <>
      <DataTable
        label="Prices beside the market"
        rows={props.offers}
        keyOf={(row) => `${row.host} ${row.model ?? ""} ${String(row.simulated)}`}
        columns={[
          { title: "Host", minor: true, cell: (row) => <Address account={row.host} kind="host" /> },
          {
            title: "Model",
            cell: (row) => (
              <>
                {row.model ?? "no GPU (a core)"}
                <Simulated simulated={row.simulated} />
              </>
            ),
          },
          { title: "Your price an hour", right: true, cell: (row) => <Amount value={row.price_per_hour} digits={6} /> },
          { title: "Lowest", right: true, cell: (row) => <Amount value={of(row)?.lowest_price ?? null} digits={6} /> },
          {
            title: "Median",
            right: true,
            minor: true,
            cell: (row) => <Amount value={of(row)?.median_price ?? null} digits={6} />,
          },
          { title: "Free", right: true, cell: (row) => `${row.gpus_free} of ${row.gpus}` },
        ]}
      />
      {props.isOwn && <PriceForm offers={props.offers} onChoose={(call) => props.onChoose("Change prices", call)} />}
    </>
  );
}
