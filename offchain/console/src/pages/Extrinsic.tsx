import { useRoute } from "preact-iso";
import { useAllPages, useResource } from "../api/hooks.ts";
import type { Documentation, Event, Extrinsic, ExtrinsicCall, Page, ResourceAnswer } from "../api/types.ts";
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
  const called = useResource<ResourceAnswer<ExtrinsicCall>>(`/v1/blocks/${row.block}/extrinsics/${row.index}/call`);
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
      </section>
      <section class="stack">
        <h2>Arguments</h2>
        {called.problem !== null ? (
          <p class="muted">The gateway cannot show them: {called.problem.message}</p>
        ) : (
          <Load of={called} what="the arguments">
            {({ data }) => <Arguments row={row} called={data} />}
          </Load>
        )}
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

const MOST_SHOWN = 20_000;

/** The arguments as a node decoded them. The hash ties them to the extrinsic of the index. */
function Arguments(props: { row: Extrinsic; called: ExtrinsicCall }) {
  const { row, called } = props;
  if (called.hash !== row.hash || (row.call !== null && called.call !== row.call))
    return <p class="muted">The gateway's node has another extrinsic there than its index.</p>;
  const text = JSON.stringify(called.args, null, 2);
  return (
    <>
      {text === "{}" ? (
        <p class="muted">None.</p>
      ) : (
        <pre tabIndex={0} aria-label="Arguments of the call">
          {text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text}
        </pre>
      )}
      {text.length > MOST_SHOWN && <p class="muted small">{`The first ${MOST_SHOWN} of ${text.length} characters.`}</p>}
      {!called.runtime_known && (
        <p class="muted small">
          Decoded by the present runtime: the gateway's node does not keep the state of block {row.block} any more.
        </p>
      )}
    </>
  );
}
