/** Signs a call: what the gateway built, its fee, what the chain would refuse; then the wallet; then the final block. */

import { useEffect, useRef, useState } from "preact/hooks";
import { asProblem, type Problem } from "../api/client.ts";
import type { Extrinsic, UnsignedExtrinsic } from "../api/types.ts";
import { useWallet } from "../wallet/session.ts";
import { build, type CallChoice, inFinalBlock, signAndSend } from "../wallet/calls.ts";
import { Dialog } from "./Dialog.tsx";
import { extrinsicPhrase } from "./ExtrinsicTable.tsx";
import { Loading, ProblemNotice } from "./loading.tsx";
import { Icon } from "./Icon.tsx";
import { Amount, Facts, Hash, Status } from "./parts.tsx";

type Step =
  | { name: "building" }
  | { name: "review"; unsigned: UnsignedExtrinsic }
  | { name: "signing"; unsigned: UnsignedExtrinsic }
  | { name: "sent"; unsigned: UnsignedExtrinsic; hash: string }
  | { name: "final"; extrinsic: Extrinsic };

export function CallDialog(props: {
  title: string;
  call: CallChoice;
  onClose: () => void;
  onFinal: (extrinsic: Extrinsic) => void;
}) {
  const { signer } = useWallet();
  const [step, setStep] = useState<Step>({ name: "building" });
  const [problem, setProblem] = useState<Problem | null>(null);
  const ending = useRef(new AbortController());
  useEffect(() => () => ending.current.abort(), []);
  const prepare = (): void => {
    setProblem(null);
    setStep({ name: "building" });
    if (signer === null) return;
    build(signer.address, props.call).then(
      (unsigned) => setStep({ name: "review", unsigned }),
      (error: unknown) => setProblem(asProblem(error)),
    );
  };
  useEffect(prepare, [signer?.address]);
  const send = async (unsigned: UnsignedExtrinsic): Promise<void> => {
    if (signer === null) return;
    setProblem(null);
    setStep({ name: "signing", unsigned });
    try {
      const { hash } = await signAndSend(signer, unsigned);
      setStep({ name: "sent", unsigned, hash });
      const extrinsic = await inFinalBlock(hash, unsigned.expires_at_block, ending.current.signal);
      setStep({ name: "final", extrinsic });
      props.onFinal(extrinsic);
    } catch (error) {
      if (ending.current.signal.aborted) return;
      setProblem(asProblem(error));
      setStep((now) => (now.name === "signing" ? { name: "review", unsigned } : now));
    }
  };
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      {problem !== null && <ProblemNotice problem={problem} retry={step.name === "building" ? prepare : undefined} />}
      {step.name === "building" && problem === null && <Loading what="the call" />}
      {(step.name === "review" || step.name === "signing") && (
        <Review
          unsigned={step.unsigned}
          isSigning={step.name === "signing"}
          source={signer?.source ?? ""}
          onSend={() => void send(step.unsigned)}
        />
      )}
      {step.name === "sent" && (
        <div role="status" class="stack">
          <p>
            <Icon name="progress" /> Sent. It takes effect when its block is final, usually within some seconds.
          </p>
          <Hash hash={step.hash} whole />
        </div>
      )}
      {step.name === "final" && (
        <div role="status" class="stack">
          <p>
            <Status phrase={extrinsicPhrase(step.extrinsic)} /> in final block{" "}
            <a href={`/blocks/${step.extrinsic.block}`}>{step.extrinsic.block}</a>.
          </p>
          <p>
            <a href={`/extrinsics/${step.extrinsic.hash}`}>The extrinsic and its events</a>
          </p>
        </div>
      )}
      <div class="row">
        <form method="dialog">
          <button type="submit">{step.name === "final" || step.name === "sent" ? "Close" : "Cancel"}</button>
        </form>
      </div>
    </Dialog>
  );
}

function Review(props: { unsigned: UnsignedExtrinsic; isSigning: boolean; source: string; onSend: () => void }) {
  const { unsigned } = props;
  const isRefused = unsigned.refusals.length > 0;
  return (
    <>
      {unsigned.refusals.map((refusal) => (
        <div class="notice notice-warn" key={refusal.code}>
          <p>
            <strong>
              <Icon name="flag" /> This would be refused now:
            </strong>{" "}
            {refusal.message}
          </p>
          {refusal.hint !== "" && <p class="muted">{refusal.hint}</p>}
        </div>
      ))}
      <pre tabIndex={0} aria-label="What is signed">
        {unsigned.summary}
      </pre>
      <Facts
        facts={[
          ["Fee, estimated", <Amount value={unsigned.fee_estimate} />],
          ["Valid until block", unsigned.expires_at_block],
        ]}
      />
      <p class="muted small">
        {props.source === "development"
          ? "This development account signs without asking. Its key is public."
          : "Your wallet decodes the call itself and shows it again: compare before you sign."}
      </p>
      <button type="button" class="button-main" disabled={props.isSigning} onClick={props.onSend}>
        {props.isSigning ? "Waiting for the wallet …" : isRefused ? "Sign and send anyway" : "Sign and send"}
      </button>
    </>
  );
}
