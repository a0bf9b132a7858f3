/** Logs, terminal and result of a task's pods. The protocol to hosts is loaded for the tenant only. */

import { useEffect, useState } from "preact/hooks";
import type { ComponentType } from "preact";
import { asProblem, type Problem } from "../api/client.ts";
import type { Lease, Task } from "../api/types.ts";
import { useWallet } from "../wallet/session.ts";
import { Loading, ProblemNotice } from "./loading.tsx";

interface PodPanelsProps {
  task: Task;
  leases: readonly Lease[];
}

export function PodAccess(props: PodPanelsProps) {
  const { signer } = useWallet();
  const leases = props.leases.filter((lease) => lease.started_ms !== null && lease.state !== "Purged");
  if (leases.length === 0) return null;
  return (
    <section class="stack no-print" aria-label="Logs, terminal and result">
      <h2>Logs, terminal and result</h2>
      {signer !== null && signer.address === props.task.tenant ? (
        <Loaded task={props.task} leases={leases} />
      ) : (
        <p class="muted">
          {signer === null && (
            <>
              <a href="/account">Connect</a> the account of its tenant to read them here.{" "}
            </>
          )}
          On the command line: <code>gantry logs {props.task.task}</code>, <code>gantry shell {props.task.task}</code>,{" "}
          <code>gantry task result {props.task.task}</code>, signed by the tenant or its proxy.
        </p>
      )}
    </section>
  );
}

function Loaded(props: PodPanelsProps) {
  const [Panels, setPanels] = useState<ComponentType<PodPanelsProps> | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  useEffect(() => {
    import("./PodPanels.tsx").then(
      (found) => setPanels(() => found.PodPanels),
      (error: unknown) => setProblem(asProblem(error)),
    );
  }, []);
  if (problem !== null) return <ProblemNotice problem={problem} />;
  return Panels === null ? <Loading what="the protocol to hosts" /> : <Panels {...props} />;
}
