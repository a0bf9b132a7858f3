import { useRoute } from "preact-iso";
import { useResource } from "../api/hooks.ts";
import type { Bill, Lease, Page, ResourceAnswer, Task } from "../api/types.ts";
import { BillCheckTable } from "../components/BillCheckTable.tsx";
import { PageTable } from "../components/DataTable.tsx";
import { Load } from "../components/loading.tsx";
import { Address, Amount, Facts, Hash, Heading, Status, Time } from "../components/parts.tsx";
import { Reclaim } from "../components/Reclaim.tsx";
import { Verify } from "../components/Verify.tsx";
import { leasePhrase } from "../lib/states.ts";
import { formatDuration } from "../lib/time.ts";

/** A lease: the right of a pod to resources of a host, and what was paid for it. */
export function LeasePage() {
  const { params } = useRoute();
  const number = params["lease"] ?? "";
  const lease = useResource<ResourceAnswer<Lease>>(`/v1/leases/${encodeURIComponent(number)}`);
  const of = lease.data?.data.task;
  const task = useResource<ResourceAnswer<Task>>(of === undefined ? null : `/v1/tasks/${of}`);
  const bills = useResource<Page<Bill>>(
    of === undefined ? null : `/v1/leases/${encodeURIComponent(number)}/bills?limit=500`,
  );
  return (
    <>
      <Heading title={`Lease ${number}`}>
        {lease.data !== null && <Status phrase={leasePhrase(lease.data.data.state, lease.data.data.reason)} />}
      </Heading>
      <Load of={lease} what="the lease">
        {({ data, as_of }) => (
          <>
            <section class="card">
              <Facts
                facts={[
                  ["Task", <a href={`/tasks/${data.task}`}>{data.task}</a>],
                  ["Pod", `${data.pod}, attempt ${data.generation + 1}`],
                  ["Host", <Address account={data.host} kind="host" whole />],
                  ["Assigned", <Time ms={data.assigned_ms} />],
                  ["Started", <Time ms={data.started_ms} />],
                  ["Ended", <Time ms={data.ended_ms} />],
                  ["Exit code", data.exit_code ?? undefined],
                  [
                    "Result",
                    data.result_digest === null ? undefined : (
                      <Hash hash={data.result_digest} href={`/digests/${data.result_digest}`} what="digest" />
                    ),
                  ],
                  ["Metered time", data.wall_ms === null ? undefined : formatDuration(data.wall_ms)],
                  ["Processor time", data.cpu_ms === null ? undefined : formatDuration(data.cpu_ms)],
                  ["Highest memory", data.memory_peak_mib === null ? undefined : `${data.memory_peak_mib} MiB`],
                  ["Rate per hour", <Amount value={data.rate_per_hour} />],
                  ["Deposited", <Amount value={data.deposited} />],
                  ["Paid", <Amount value={data.paid} />],
                  ["of which fee", <Amount value={data.fee} />],
                  ["to its scheduler", <Amount value={data.scheduler_fee} />],
                  ["to its settler", <Amount value={data.settler_fee} />],
                  ["Returned", <Amount value={data.refunded} />],
                  ["Rating", data.stars === null ? undefined : `${data.stars} of 5 stars`],
                ]}
              />
            </section>
            <section class="stack">
              <h2>Bill</h2>
              {task.data !== null && (
                <BillCheckTable leases={[data]} kind={task.data.data.kind} nowMs={as_of.time_ms} />
              )}
              <h3>Payments</h3>
              <PageTable<Bill>
                label="Payments"
                what="payments"
                of={bills}
                empty="Nothing was paid yet."
                keyOf={(row) => `${row.block}.${row.index}`}
                columns={[
                  { title: "Time", cell: (row) => <Time ms={row.time_ms} /> },
                  { title: "Block", right: true, cell: (row) => <a href={`/blocks/${row.block}`}>{row.block}</a> },
                  { title: "Paid", right: true, cell: (row) => <Amount value={row.paid} /> },
                  { title: "Fee in it", right: true, cell: (row) => <Amount value={row.fee} /> },
                  { title: "Returned", right: true, cell: (row) => <Amount value={row.refunded} /> },
                ]}
              />
            </section>
            {task.data !== null && <Reclaim lease={data} kind={task.data.data.kind} onDone={lease.reload} />}
            <Verify subject={`lease ${data.lease}`} file={`lease-${data.lease}.proof`} />
          </>
        )}
      </Load>
    </>
  );
}
