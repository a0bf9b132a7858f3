/** A task: state, timeline, leases, bills, what its tenant can do, and how to verify all of it offline. */

import { useRoute } from "preact-iso";
import { useAllPages, useResource, useThrottled } from "../api/hooks.ts";
import { useEventStream } from "../api/stream.ts";
import type { Bill, Event, Lease, ResourceAnswer, Task, TaskTerms } from "../api/types.ts";
import { BillCheckTable } from "../components/BillCheckTable.tsx";
import { CostBar } from "../components/CostBar.tsx";
import { DataTable } from "../components/DataTable.tsx";
import { Live } from "../components/Live.tsx";
import { Empty, Load } from "../components/loading.tsx";
import { Address, Amount, Facts, Hash, Heading, Status, Time } from "../components/parts.tsx";
import { Placement } from "../components/Placement.tsx";
import { PodAccess } from "../components/PodAccess.tsx";
import { TaskActions } from "../components/TaskActions.tsx";
import { TaskUsage } from "../components/TaskUsage.tsx";
import { Timeline } from "../components/Timeline.tsx";
import { Verify } from "../components/Verify.tsx";
import { sum } from "../lib/money.ts";
import { isFinal, leasePhrase, taskPhrase } from "../lib/states.ts";
import { useWallet } from "../wallet/session.ts";

const REFRESH_MS = 400;

export function TaskPage() {
  const { params } = useRoute();
  const number = params["task"] ?? "";
  const task = useResource<ResourceAnswer<Task>>(`/v1/tasks/${encodeURIComponent(number)}`);
  const isKnown = task.data !== null;
  const of = (path: string): string | null => (isKnown ? path : null);
  const leases = useAllPages<Lease>(of(`/v1/leases?task=${number}&order=oldest&limit=500`));
  const terms = useResource<ResourceAnswer<TaskTerms>>(of(`/v1/tasks/${number}/terms`));
  const bills = useAllPages<Bill>(of(`/v1/tasks/${number}/bills?order=oldest&limit=500`));
  const events = useAllPages<Event>(of(`/v1/events?subject=${number}&order=oldest&limit=500&documented=true`), 4);
  const reload = useThrottled(() => {
    task.reload();
    leases.reload();
    bills.reload();
    terms.reload();
    events.reload();
  }, REFRESH_MS);
  const stream = useEventStream(isKnown ? { subject: number } : null, reload);
  return (
    <>
      <Heading title={`Task ${number}`} aside={isKnown && <Live state={stream} />}>
        {task.data !== null && <Status phrase={taskPhrase(task.data.data.state)} />}
      </Heading>
      <Load of={task} what="the task">
        {({ data, as_of }) => (
          <>
            <div class="columns">
              <section class="card" aria-label="Facts">
                <TaskFacts task={data} />
              </section>
              <Actions task={data} leases={leases.data ?? []} onDone={reload} />
            </div>
            <section class="stack">
              <h2>Pods and leases</h2>
              <Load of={leases} what="leases">
                {(rows) => <LeaseTable rows={rows} />}
              </Load>
            </section>
            <section class="stack">
              <h2>Cost</h2>
              <Load of={leases} what="the cost">
                {(rows) => <CostBar task={data} leases={rows} nowMs={as_of.time_ms} terms={terms.data?.data ?? null} />}
              </Load>
            </section>
            <Placement task={data} />
            <PodAccess task={data} leases={leases.data ?? []} />
            <TaskUsage task={data} />
            <section class="stack">
              <h2>Bill</h2>
              <Load of={leases} what="the bill">
                {(rows) => (
                  <BillCheckTable
                    leases={rows}
                    kind={data.kind}
                    nowMs={as_of.time_ms}
                    terms={terms.data?.data ?? null}
                  />
                )}
              </Load>
              <Load of={bills} what="payments">
                {(rows) => <Payments bills={rows} task={data} />}
              </Load>
            </section>
            <Timeline of={events}>
              {events.data?.some((one) => one.name === "DisputeOpened") === true && (
                <p>
                  <a href={`/disputes/${data.task}`}>Evidence, jury and votes of its dispute</a>
                </p>
              )}
            </Timeline>
            <Verify subject={`task ${data.task}`} file={`task-${data.task}.proof`} isFinal={isFinal(data.state)} />
          </>
        )}
      </Load>
    </>
  );
}

function TaskFacts(props: { task: Task }) {
  const { task } = props;
  return (
    <Facts
      facts={[
        ["Kind", task.kind.toLowerCase()],
        ["Tenant", <Address account={task.tenant} />],
        [
          "Submitted",
          <>
            <Time ms={task.submitted_ms} /> in block{" "}
            <a href={`/blocks/${task.submitted_block}`}>{task.submitted_block}</a>
          </>,
        ],
        [
          "Last change",
          <>
            <Time ms={task.changed_ms} /> in block <a href={`/blocks/${task.changed_block}`}>{task.changed_block}</a>
          </>,
        ],
        ["Failed attempts", task.failures],
        ["Paid", <Amount value={task.paid} />],
        ["of which fee", <Amount value={task.fee} />],
        ["Returned", <Amount value={task.refunded} />],
        ["Manifest", <Hash hash={task.manifest_digest} href={`/digests/${task.manifest_digest}`} what="digest" />],
      ]}
    />
  );
}

function Actions(props: { task: Task; leases: readonly Lease[]; onDone: () => void }) {
  const { signer } = useWallet();
  if (signer === null) {
    return (
      <section class="card stack" aria-label="Actions">
        <h2>Actions</h2>
        <p class="muted">
          <a href="/account">Connect</a> the account of its tenant to stop, extend, accept, dispute or rate this task.
        </p>
      </section>
    );
  }
  if (signer.address !== props.task.tenant) {
    return (
      <section class="card stack" aria-label="Actions">
        <h2>Actions</h2>
        <p class="muted">This task belongs to another account, so there is nothing that you can change.</p>
      </section>
    );
  }
  return <TaskActions {...props} />;
}

export function LeaseTable(props: { rows: readonly Lease[]; showsTask?: boolean }) {
  if (props.rows.length === 0) return <Empty>No pod was placed on a host yet.</Empty>;
  return (
    <DataTable
      label="Leases"
      rows={props.rows}
      keyOf={(row) => row.lease}
      columns={[
        {
          title: "Lease",
          cell: (row) => (
            <a href={`/leases/${row.lease}`}>
              pod {row.pod}, attempt {row.generation + 1}
            </a>
          ),
        },
        ...(props.showsTask === true
          ? [{ title: "Task", cell: (row: Lease) => <a href={`/tasks/${row.task}`}>{row.task}</a> }]
          : []),
        { title: "State", cell: (row) => <Status phrase={leasePhrase(row.state, row.reason)} /> },
        { title: "Host", cell: (row) => <Address account={row.host} kind="host" /> },
        { title: "Started", minor: true, cell: (row) => <Time ms={row.started_ms} /> },
        { title: "Ended", minor: true, cell: (row) => <Time ms={row.ended_ms} /> },
        { title: "Exit code", right: true, minor: true, cell: (row) => row.exit_code ?? "" },
        { title: "Rate per hour", right: true, cell: (row) => <Amount value={row.rate_per_hour} digits={6} /> },
        { title: "Paid", right: true, cell: (row) => <Amount value={row.paid} digits={6} /> },
      ]}
    />
  );
}

function Payments(props: { bills: readonly Bill[]; task: Task }) {
  const paid = props.bills.filter((bill) => bill.paid !== "0" || bill.refunded !== "0");
  if (paid.length === 0) return <Empty>Nothing was paid yet.</Empty>;
  const total = sum(paid.map((bill) => bill.paid));
  return (
    <>
      <h3>Payments</h3>
      <DataTable
        label="Payments"
        rows={paid}
        keyOf={(row) => `${row.block}.${row.index}.${row.lease}`}
        columns={[
          { title: "Time", cell: (row) => <Time ms={row.time_ms} /> },
          { title: "Block", minor: true, right: true, cell: (row) => <a href={`/blocks/${row.block}`}>{row.block}</a> },
          { title: "To host", cell: (row) => <Address account={row.host} kind="host" /> },
          { title: "Paid", right: true, cell: (row) => <Amount value={row.paid} /> },
          { title: "Fee in it", right: true, minor: true, cell: (row) => <Amount value={row.fee} /> },
          { title: "Returned", right: true, cell: (row) => <Amount value={row.refunded} /> },
        ]}
      />
      <p>
        Sum of the payments: <Amount value={total} />.{" "}
        {total === BigInt(props.task.paid) ? (
          <Status phrase={{ icon: "done", text: "equals what the task has paid", tone: "good" }} />
        ) : (
          <Status phrase={{ icon: "failed", text: "differs from what the task has paid", tone: "bad" }} />
        )}
      </p>
    </>
  );
}
