/** The start: what the network is doing now. */

import { useResource } from "../api/hooks.ts";
import { useBlockTicks } from "../api/ticks.ts";
import type { Market } from "../api/market_types.ts";
import type { Block, Page, Task } from "../api/types.ts";
import { DataTable } from "../components/DataTable.tsx";
import { Live } from "../components/Live.tsx";
import { Empty, Load } from "../components/loading.tsx";
import { Address, Heading, Status, Tile, Time } from "../components/parts.tsx";
import { taskPhrase } from "../lib/states.ts";

export function Explorer() {
  const blocks = useResource<Page<Block>>("/v1/blocks?limit=10");
  const tasks = useResource<Page<Task>>("/v1/tasks?limit=10");
  const market = useResource<Page<Market>>("/v1/market?limit=500");
  const stream = useBlockTicks(() => {
    blocks.reload();
    tasks.reload();
    market.reload();
  });
  const rows = market.data?.data ?? [];
  const gpus = rows.filter((row) => row.model !== null);
  const total = (of: (row: Market) => number): number => gpus.reduce((sum, row) => sum + of(row), 0);
  return (
    <>
      <Heading title="Explorer" aside={<Live state={stream} />}>
        Blocks, tasks, leases, hosts and every coin of the network, with the <a href="/challenges">challenges</a> of
        hosts and the <a href="/disputes">disputes</a> about results. <a href="/state">State at a block</a> shows what
        the chain has stored, with a proof.
      </Heading>
      <ul class="tiles" aria-label="The network now">
        <Tile name="Last final block">{blocks.data === null ? "…" : blocks.data.as_of.number}</Tile>
        <Tile
          name="GPUs free now"
          note={market.data === null ? undefined : `of ${total((row) => row.gpus)} on hosts that take leases`}
        >
          {market.data === null ? "…" : total((row) => row.gpus_free)}
        </Tile>
        <Tile name="GPU models">{market.data === null ? "…" : new Set(gpus.map((row) => row.model)).size}</Tile>
      </ul>
      <div class="columns">
        <section class="stack">
          <div class="row row-end">
            <h2>Latest tasks</h2>
            <a href="/tasks">All tasks</a>
          </div>
          <Load of={tasks} what="tasks">
            {(page) =>
              page.data.length === 0 ? (
                <Empty>
                  No task was submitted yet. <a href="/launch">Launch the first one</a>.
                </Empty>
              ) : (
                <DataTable
                  label="Latest tasks"
                  rows={page.data}
                  keyOf={(row) => row.task}
                  columns={[
                    { title: "Task", cell: (row) => <a href={`/tasks/${row.task}`}>{row.task}</a> },
                    { title: "State", cell: (row) => <Status phrase={taskPhrase(row.state)} /> },
                    { title: "Tenant", minor: true, cell: (row) => <Address account={row.tenant} /> },
                    { title: "Changed", cell: (row) => <Time ms={row.changed_ms} /> },
                  ]}
                />
              )
            }
          </Load>
        </section>
        <section class="stack">
          <div class="row row-end">
            <h2>Latest blocks</h2>
            <a href="/blocks">All blocks</a>
          </div>
          <Load of={blocks} what="blocks">
            {(page) => (
              <DataTable
                label="Latest blocks"
                rows={page.data}
                keyOf={(row) => row.number}
                columns={[
                  { title: "Block", cell: (row) => <a href={`/blocks/${row.number}`}>{row.number}</a> },
                  { title: "Time", cell: (row) => <Time ms={row.time_ms} /> },
                  { title: "Extrinsics", right: true, cell: (row) => row.extrinsics },
                  { title: "Events", right: true, cell: (row) => row.events },
                ]}
              />
            )}
          </Load>
        </section>
      </div>
    </>
  );
}
