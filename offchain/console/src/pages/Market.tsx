/** The market: GPUs by model, and the offers of hosts with filters in the URL. */

import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { useResource } from "../api/hooks.ts";
import type { Market } from "../api/market_types.ts";
import type { Offer, Page } from "../api/types.ts";
import { DataTable, PageTable } from "../components/DataTable.tsx";
import { Simulated } from "../components/DeviceTable.tsx";
import { Empty, Load } from "../components/loading.tsx";
import { Address, Amount, Heading, Status, Wrong } from "../components/parts.tsx";
import { PriceHistory } from "../components/PriceHistory.tsx";
import { parseAmount } from "../lib/money.ts";
import { hostPhrase } from "../lib/states.ts";
import { apiQuery, stateOf, urlWith } from "../lib/url_state.ts";

const DEFAULTS = { model: "", region: "", tier: "", free: "", max_price: "", simulated: "", sort: "price", after: "" };
type MarketState = typeof DEFAULTS;

export function MarketPage() {
  const { query } = useLocation();
  const state = stateOf(query, DEFAULTS);
  const to = (change: Partial<MarketState>): string => urlWith("/market", { ...state, after: "", ...change }, DEFAULTS);
  const market = useResource<Page<Market>>("/v1/market?limit=500");
  return (
    <>
      <Heading title="Market">What hosts offer now. Prices are for one whole GPU an hour.</Heading>
      <section class="stack">
        <h2>GPU models</h2>
        <Load of={market} what="models">
          {(page) =>
            page.data.length === 0 ? (
              <Empty>No host takes leases now.</Empty>
            ) : (
              <DataTable
                label="GPU models"
                rows={page.data}
                keyOf={(row) => `${row.model ?? ""} ${String(row.simulated)}`}
                columns={[
                  {
                    title: "Model",
                    cell: (row) => (
                      <>
                        {row.model === null ? (
                          "no GPU (price of a core)"
                        ) : (
                          <a href={to({ model: row.model, simulated: String(row.simulated) })}>{row.model}</a>
                        )}
                        <Simulated simulated={row.simulated} />
                      </>
                    ),
                  },
                  { title: "Free", right: true, cell: (row) => row.gpus_free },
                  { title: "All", right: true, cell: (row) => row.gpus },
                  { title: "Hosts", right: true, minor: true, cell: (row) => row.hosts },
                  {
                    title: "Lowest price with a free one",
                    right: true,
                    cell: (row) =>
                      row.lowest_free_price === null ? (
                        "none free"
                      ) : (
                        <Amount value={row.lowest_free_price} digits={6} />
                      ),
                  },
                  {
                    title: "Median price",
                    right: true,
                    minor: true,
                    cell: (row) => <Amount value={row.median_price} digits={6} />,
                  },
                ]}
              />
            )
          }
        </Load>
      </section>
      {state.model !== "" && market.data !== null && (
        <PriceHistory model={state.model} simulated={isSimulated(state, market.data.data)} />
      )}
      <section class="stack">
        <h2>Offers of hosts</h2>
        <Filters state={state} to={to} models={market.data?.data ?? []} />
        <Offers state={state} to={to} />
      </section>
    </>
  );
}

/** Whether the chosen model's devices are simulated: as the filter says, else if there are no real ones. */
function isSimulated(state: MarketState, models: readonly Market[]): boolean {
  if (state.simulated !== "") return state.simulated === "true";
  const found = models.filter((row) => row.model === state.model);
  return found.length > 0 && found.every((row) => row.simulated);
}

function Filters(props: {
  state: MarketState;
  to: (change: Partial<MarketState>) => string;
  models: readonly Market[];
}) {
  const { route } = useLocation();
  const { state, to } = props;
  const [wrong, setWrong] = useState("");
  const change =
    (name: keyof MarketState) => (event: Event & { currentTarget: HTMLInputElement | HTMLSelectElement }) => {
      const value = event.currentTarget.value.trim();
      if (name === "max_price" && value !== "") {
        try {
          parseAmount(value);
        } catch (error) {
          setWrong(error instanceof Error ? error.message : String(error));
          return;
        }
      }
      setWrong("");
      route(to({ [name]: value }));
    };
  const names = [...new Set(props.models.flatMap((row) => (row.model === null ? [] : [row.model])))];
  return (
    <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      <label class="field">
        Model
        <select value={state.model} onChange={change("model")}>
          <option value="">any</option>
          {(state.model === "" || names.includes(state.model) ? names : [state.model, ...names]).map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        Free GPUs, at least
        <input type="number" min={0} max={255} value={state.free} onChange={change("free")} />
      </label>
      <label class="field">
        Price an hour, at most (GTY)
        <input inputMode="decimal" value={state.max_price} onChange={change("max_price")} />
      </label>
      <label class="field">
        Region
        <input value={state.region} maxLength={256} onChange={change("region")} />
      </label>
      <label class="field">
        Class
        <select value={state.tier} onChange={change("tier")}>
          <option value="">any</option>
          <option value="Datacenter">data centre</option>
          <option value="Professional">professional</option>
          <option value="Consumer">consumer</option>
        </select>
      </label>
      <label class="field">
        GPUs
        <select value={state.simulated} onChange={change("simulated")}>
          <option value="">real and simulated</option>
          <option value="false">real only</option>
          <option value="true">simulated only</option>
        </select>
      </label>
      <a class="button" href="/market">
        Reset
      </a>
      <Wrong>{wrong}</Wrong>
    </form>
  );
}

function offersPath(state: MarketState): string {
  let most = "";
  try {
    most = state.max_price === "" ? "" : parseAmount(state.max_price).toString();
  } catch {
    // A URL with a price that is none shows offers of any price.
  }
  return `/v1/offers${apiQuery({ ...state, max_price: most })}`;
}

function Offers(props: { state: MarketState; to: (change: Partial<MarketState>) => string }) {
  const { state, to } = props;
  const offers = useResource<Page<Offer>>(offersPath(state));
  const byPrice = state.sort !== "reputation";
  return (
    <PageTable<Offer>
      label="Offers"
      what="offers"
      of={offers}
      empty={
        <>
          No offer fits these filters. <a href="/market">Show all offers</a>.
        </>
      }
      keyOf={(row) => `${row.host} ${row.model ?? ""} ${String(row.simulated)}`}
      pageHref={(after) => to({ after })}
      isFirst={state.after === ""}
      columns={[
        {
          title: "Model",
          cell: (row) => (
            <>
              {row.model ?? "no GPU"}
              <Simulated simulated={row.simulated} />
            </>
          ),
        },
        {
          title: "Price an hour",
          right: true,
          sortHref: to({ sort: "price" }),
          ...(byPrice ? { sorted: "ascending" as const } : {}),
          cell: (row) => <Amount value={row.price_per_hour} digits={6} />,
        },
        { title: "Free", right: true, cell: (row) => `${row.gpus_free} of ${row.gpus}` },
        { title: "Memory", right: true, minor: true, cell: (row) => `${Math.round(row.vram_mib / 1024)} GiB` },
        { title: "Region", cell: (row) => row.region || "not given" },
        { title: "Class", minor: true, cell: (row) => row.tier.toLowerCase() },
        {
          title: "Reputation",
          right: true,
          sortHref: to({ sort: "reputation" }),
          ...(byPrice ? {} : { sorted: "descending" as const }),
          cell: (row) => `${(row.reputation_ppm / 10_000).toFixed(1)} %`,
        },
        { title: "Status", minor: true, cell: (row) => <Status phrase={hostPhrase(row.status)} /> },
        { title: "Host", cell: (row) => <Address account={row.host} kind="host" /> },
      ]}
    />
  );
}
