/** Why a task waits, or why it runs where it does: by the chain's rules, and by the decisions of schedulers. */

import { useEffect, useRef } from "preact/hooks";
import { useResource } from "../api/hooks.ts";
import type { Candidate, Feasibility, SchedulerDecision, SchedulerExplanation } from "../api/placement_types.ts";
import type { TaskPlacement } from "../api/placement_types.ts";
import type { ResourceAnswer, Task } from "../api/types.ts";
import { costParts, excludedText, hostsText, nowTexts, outcomeText, waitText } from "../lib/placement.ts";
import { DataTable } from "./DataTable.tsx";
import { Load } from "./loading.tsx";
import { Address, Amount, Facts, Status, Time } from "./parts.tsx";

const REFRESH_MS = 10_000;

export function Placement(props: { task: Task }) {
  const { task, changed_block: changed } = props.task;
  const found = useResource<ResourceAnswer<TaskPlacement>>(`/v1/tasks/${task}/placement`);
  const { reload } = found;
  const seen = useRef(changed);
  useEffect(() => {
    if (seen.current !== changed) reload();
    seen.current = changed;
  }, [changed, reload]);
  const waits = found.data?.data.waits === true;
  useEffect(() => {
    if (!waits) return undefined;
    const timer = setInterval(reload, REFRESH_MS);
    return () => clearInterval(timer);
  }, [waits, reload]);
  // Without a node, and for a task that the chain has pruned, there is nothing to explain.
  if (found.problem?.status === 404) return null;
  return (
    <section class="stack" aria-label="Placement">
      <h2>Placement</h2>
      <Load of={found} what="the placement">
        {({ data }) => <Explained placement={data} />}
      </Load>
    </section>
  );
}

function Explained(props: { placement: TaskPlacement }) {
  const { placement } = props;
  const risks = placement.pods.filter((pod) => pod.at_risk !== null);
  return (
    <>
      {placement.feasibility === null ? (
        <p>{placement.summary}</p>
      ) : (
        <Waiting found={placement.feasibility} summary={placement.summary} />
      )}
      {risks.map((pod) => (
        <p key={pod.pod}>
          <Status phrase={{ icon: "flag", text: `pod ${pod.pod} is at risk: ${pod.at_risk}`, tone: "warn" }} />
        </p>
      ))}
      {placement.schedulers.map((one) => (
        <Scheduler key={one.scheduler} found={one} />
      ))}
      {placement.unanswered > 0 && (
        <p class="muted">
          {placement.unanswered} {placement.unanswered === 1 ? "scheduler" : "schedulers"} of this gateway did not
          answer.
        </p>
      )}
      {placement.schedulers.length === 0 && (
        <p class="muted">
          No decision of a scheduler is known here. <code>gantry task why {placement.task} --scheduler URL</code> asks
          one.
        </p>
      )}
    </>
  );
}

function Waiting(props: { found: Feasibility; summary: string }) {
  const { found } = props;
  return (
    <>
      <div class="card">
        <Facts
          facts={[
            ["Start", props.summary],
            ["Hosts", hostsText(found)],
            ["Pods", `${found.pods_now} of the ${found.pods_needed} that start together are feasible now`],
            ["Price per hour and pod", <Rates found={found} />],
          ]}
        />
      </div>
      {found.excluded.length > 0 && (
        <DataTable
          label="Hosts that cannot run it"
          rows={found.excluded}
          keyOf={(row) => row.reason}
          columns={[
            { title: "Hosts that are", cell: (row) => row.text },
            { title: "Now", right: true, cell: (row) => row.hosts_now },
            { title: "Even if nothing else ran", right: true, cell: (row) => row.hosts_always },
          ]}
        />
      )}
    </>
  );
}

function Rates(props: { found: Feasibility }) {
  const { lowest_rate_per_hour: lowest, highest_rate_per_hour: highest, max_rate_per_hour: limit } = props.found;
  return (
    <>
      {lowest !== null && highest !== null && (
        <>
          <Amount value={lowest} digits={6} unit={lowest === highest} />
          {lowest !== highest && (
            <>
              {" to "}
              <Amount value={highest} digits={6} />
            </>
          )}
          {"; "}
        </>
      )}
      the limit is <Amount value={limit} digits={6} />
    </>
  );
}

function Scheduler(props: { found: SchedulerExplanation }) {
  const { found } = props;
  const { wait, decision } = found;
  return (
    <article class="card stack" aria-label={`Scheduler ${found.scheduler}`}>
      <h3>
        Scheduler <Address account={found.scheduler} />
      </h3>
      <Facts
        facts={[
          ["Now", nowTexts(found).join("; ") || undefined],
          ["Waits", wait === null ? undefined : waitText(wait)],
          ["Excluded", (wait !== null && excludedText(wait.excluded)) || undefined],
          ["Placed", decision === null ? undefined : <Placed decision={decision} />],
          ["Chain", decision === null ? undefined : outcomeText(decision)],
          ["Why", decision === null ? undefined : whyText(decision)],
        ]}
      />
      {decision !== null && decision.best.length > 0 && <Candidates rows={decision.best} />}
    </article>
  );
}

function Placed(props: { decision: SchedulerDecision }) {
  const { decision } = props;
  return (
    <>
      <Time ms={decision.at_ms} />, attempt {decision.attempt}:{" "}
      {decision.pods.map((pod) => (
        <span key={pod.pod}>
          pod {pod.pod} on <Address account={pod.host} kind="host" />
          {pod.devices.length > 0 && ` GPU ${pod.devices.join(", ")}`}{" "}
        </span>
      ))}
    </>
  );
}

function whyText(decision: SchedulerDecision): string {
  if (decision.hosts === null) return "not recorded, because only the first placements of a cycle are";
  const excluded = excludedText(decision.excluded ?? {});
  return `${decision.feasible} of ${decision.hosts} hosts were feasible${excluded === "" ? "" : `; excluded: ${excluded}`}`;
}

function Candidates(props: { rows: readonly Candidate[] }) {
  return (
    <details>
      <summary>The hosts that were compared, the best first; a lower cost is better</summary>
      <DataTable
        label="Hosts that were compared"
        rows={props.rows}
        keyOf={(row) => row.host}
        columns={[
          { title: "Host", cell: (row) => <Address account={row.host} kind="host" /> },
          { title: "GPUs", cell: (row) => row.devices.join(", ") || "none" },
          { title: "Cost", right: true, cell: (row) => row.cost.toFixed(3) },
          ...costParts(props.rows).map(({ key, title }) => ({
            title,
            right: true,
            minor: true,
            cell: (row: Candidate) => row.parts[key]?.toFixed(3) ?? "",
          })),
          { title: "Note", minor: true, cell: (row) => (row.reserved ? "reserved for others" : "") },
        ]}
      />
    </details>
  );
}
