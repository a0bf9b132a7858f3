/** The result of a pod, from its host, compared with the digest on the chain. */

import { useState } from "preact/hooks";
import { asProblem, type Problem } from "../api/client.ts";
import type { Lease, Network } from "../api/types.ts";
import { hostClient } from "../host/pods.ts";
import { bytesOf } from "../lib/bytes.ts";
import { saveFile } from "../lib/save_file.ts";
import { Empty, ProblemNotice } from "./loading.tsx";
import { Hash, Status } from "./parts.tsx";

export function ResultPanel(props: { lease: Lease; network: Network }) {
  const { lease, network } = props;
  const [got, setGot] = useState<number | null>(null);
  const [isDone, setIsDone] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const digest = lease.result_digest;
  if (digest === null) return <Empty>This pod has reported no result yet.</Empty>;
  const download = async (): Promise<void> => {
    setProblem(null);
    setIsDone(false);
    setGot(0);
    try {
      const client = await hostClient(network, lease.host);
      const body = await client.result(BigInt(lease.lease), bytesOf(digest), setGot);
      setGot(body.length);
      saveFile(`task-${lease.task}-pod-${lease.pod}.result`, [body]);
      setIsDone(true);
    } catch (error) {
      setGot(null);
      setProblem(asProblem(error));
    }
  };
  return (
    <section class="card stack" aria-label="Result">
      <h3>Result</h3>
      <p>
        SHA-256 on the chain: <Hash hash={digest} href={`/digests/${digest}`} what="digest" />
      </p>
      {problem !== null && <ProblemNotice problem={problem} />}
      <div class="row">
        <button type="button" disabled={got !== null && !isDone} onClick={() => void download()}>
          Download the result
        </button>
        <span role="status">
          {got !== null && !isDone && `${got} bytes received`}
          {isDone && (
            <Status phrase={{ icon: "done", text: `${got} bytes agree with the digest on the chain`, tone: "good" }} />
          )}
        </span>
      </div>
      <p class="muted small">
        A result that was encrypted to a key of yours stays encrypted: <code>gantry task result --seal-key</code> opens
        it.
      </p>
    </section>
  );
}
