/** Final blocks: the list, and one block with its extrinsics and events, decoded and documented. */

import { useLocation, useRoute } from "preact-iso";
import { useAllPages, useResource } from "../api/hooks.ts";
import type { Block, Event, Extrinsic, Page, ResourceAnswer } from "../api/types.ts";
import { PageTable } from "../components/DataTable.tsx";
import { EventList } from "../components/EventList.tsx";
import { ExtrinsicTable } from "../components/ExtrinsicTable.tsx";
import { Load } from "../components/loading.tsx";
import { Facts, Hash, Heading, Time } from "../components/parts.tsx";
import { apiQuery, urlWith } from "../lib/url_state.ts";

export function Blocks() {
  const { query } = useLocation();
  const after = query["after"] ?? "";
  const blocks = useResource<Page<Block>>(`/v1/blocks${apiQuery({ after })}`);
  return (
    <>
      <Heading title="Blocks">Final blocks, newest first.</Heading>
      <PageTable<Block>
        label="Blocks"
        what="blocks"
        of={blocks}
        empty="The index has no block yet."
        keyOf={(row) => row.number}
        pageHref={(cursor) => urlWith("/blocks", { after: cursor })}
        isFirst={after === ""}
        columns={[
          { title: "Block", cell: (row) => <a href={`/blocks/${row.number}`}>{row.number}</a> },
          { title: "Time", cell: (row) => <Time ms={row.time_ms} /> },
          { title: "Hash", minor: true, cell: (row) => <Hash hash={row.hash} href={`/blocks/${row.number}`} /> },
          { title: "Extrinsics", right: true, cell: (row) => row.extrinsics },
          { title: "Events", right: true, cell: (row) => row.events },
        ]}
      />
    </>
  );
}

export function BlockPage() {
  const { params } = useRoute();
  const name = params["block"] ?? "";
  const block = useResource<ResourceAnswer<Block>>(`/v1/blocks/${encodeURIComponent(name)}`);
  const number = block.data?.data.number ?? null;
  const extrinsics = useAllPages<Extrinsic>(
    number === null ? null : `/v1/blocks/${number}/extrinsics?order=oldest&limit=500`,
  );
  const events = useAllPages<Event>(
    number === null
      ? null
      : `/v1/events${apiQuery({ first_block: number, last_block: number, order: "oldest", limit: 500, documented: true })}`,
  );
  return (
    <>
      <Heading
        title={`Block ${number ?? name}`}
        aside={
          number !== null && (
            <>
              {number > 0 && (
                <a class="button" href={`/blocks/${number - 1}`}>
                  Previous block
                </a>
              )}
              {number < (block.data?.as_of.number ?? 0) && (
                <a class="button" href={`/blocks/${number + 1}`}>
                  Next block
                </a>
              )}
            </>
          )
        }
      />
      <Load of={block} what="the block">
        {({ data }) => (
          <>
            <section class="card">
              <Facts
                facts={[
                  ["Time", <Time ms={data.time_ms} />],
                  ["Hash", <Hash hash={data.hash} whole />],
                  ["Parent", <Hash hash={data.parent_hash} whole href={`/blocks/${data.parent_hash}`} />],
                  ["State", <a href={`/state?block=${data.number}`}>State at this block</a>],
                  ["Extrinsics", data.extrinsics],
                  ["Events", data.events],
                ]}
              />
            </section>
            <section class="stack">
              <h2>Extrinsics</h2>
              <Load of={extrinsics} what="extrinsics">
                {(rows) => <ExtrinsicTable rows={rows} />}
              </Load>
            </section>
            <section class="stack">
              <h2>Events</h2>
              <Load of={events} what="events">
                {(rows) => <EventList events={rows} isComplete={events.isComplete} showsExtrinsic />}
              </Load>
            </section>
          </>
        )}
      </Load>
    </>
  );
}
