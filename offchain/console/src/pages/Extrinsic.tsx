import { useRoute } from "preact-iso";
import { useAllPages, useResource } from "../api/hooks.ts";
import type { Documentation, Event, Extrinsic, Page } from "../api/types.ts";
import { EventList } from "../components/EventList.tsx";
import { extrinsicPhrase } from "../components/ExtrinsicTable.tsx";
import { Load } from "../components/loading.tsx";
import { Address, Amount, Facts, Hash, Heading, Status, Time } from "../components/parts.tsx";
import { shortAddress } from "../lib/address.ts";
import { apiQuery } from "../lib/url_state.ts";

/** The extrinsics with a hash: usually one, several if a removed account sent the same again. */
export function ExtrinsicPage() {
  const { params } = useRoute();
  const hash = params["hash"] ?? "";
  const found = useResource<Page<Extrinsic>>(`/v1/extrinsics/${encodeURIComponent(hash)}`);
  return (
    <>
      <Heading title={`Extrinsic ${shortAddress(hash)}`} />
      <Load of={found} what="the extrinsic">
        {(page) => (
          <>
            {page.data.map((row) => (
              <OneExtrinsic key={`${row.block}.${row.index}`} row={row} />
            ))}
          </>
        )}
      </Load>
    </>
  );
}

function OneExtrinsic(props: { row: Extrinsic }) {
  const { row } = props;
  const [pallet, call] = (row.call ?? "").split(".");
  const texts = useResource<Page<Documentation>>(
    pallet === undefined || pallet === "" ? null : `/v1/documentation${apiQuery({ pallet, kind: "call", limit: 500 })}`,
  );
  const events = useAllPages<Event>(
    `/v1/events${apiQuery({
      first_block: row.block,
      last_block: row.block,
      extrinsic: row.index,
      order: "oldest",
      limit: 500,
      documented: true,
    })}`,
  );
  const text = texts.data?.data.find((one) => one.name === call)?.text;
  return (
    <>
      <section class="card stack">
        <Facts
          facts={[
            ["Result", <Status phrase={extrinsicPhrase(row)} />],
            ["Call", <code>{row.call ?? "not in the index"}</code>],
            ["Documentation", text === undefined || text === "" ? undefined : text],
            [
              "Block",
              <>
                <a href={`/blocks/${row.block}`}>{row.block}</a>, index {row.index}
              </>,
            ],
            ["Time", <Time ms={row.time_ms} />],
            [
              "Signer",
              row.signer === null ? "none: the block's author added it" : <Address account={row.signer} whole />,
            ],
            ["Fee", row.fee === null ? "none" : <Amount value={row.fee} />],
            ["Tip", row.tip === null || row.tip === "0" ? undefined : <Amount value={row.tip} />],
            [
              "Paid by",
              row.payer === null || row.payer === row.signer ? undefined : <Address account={row.payer} whole />,
            ],
            ["Hash", <Hash hash={row.hash} whole />],
          ]}
        />
        <p class="muted small">
          The index does not keep arguments of calls. A node has them in the body of block {row.block}.
        </p>
      </section>
      <section class="stack">
        <h2>Events that it caused</h2>
        <Load of={events} what="events">
          {(rows) => <EventList events={rows} isComplete={events.isComplete} />}
        </Load>
      </section>
    </>
  );
}
