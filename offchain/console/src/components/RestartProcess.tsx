/** A restart of a process, which the operator's wallet signs. The process checks the signature, not the gateway. */

import { useState } from "preact/hooks";
import { asProblem, type Problem, request } from "../api/client.ts";
import type { MonitoredProcess, RestartMessage } from "../api/monitoring_types.ts";
import type { ResourceAnswer } from "../api/types.ts";
import { type Signer } from "../wallet/signers.ts";
import { useWallet } from "../wallet/session.ts";
import { Dialog } from "./Dialog.tsx";
import { ProblemNotice } from "./loading.tsx";

type Step = "asked" | "signing" | "done";

/** Nothing for a process that does not answer. */
export function RestartProcess(props: { process: MonitoredProcess }) {
  const { signer } = useWallet();
  const [isOpen, setOpen] = useState(false);
  const { process } = props;
  if (!process.up || signer === null) return null;
  return (
    <>
      <button type="button" onClick={() => setOpen(true)} aria-label={`Restart ${process.job} at ${process.instance}`}>
        Restart
      </button>
      {isOpen && <RestartDialog process={process} signer={signer} onClose={() => setOpen(false)} />}
    </>
  );
}

function RestartDialog(props: { process: MonitoredProcess; signer: Signer; onClose: () => void }) {
  const { process, signer } = props;
  const [step, setStep] = useState<Step>("asked");
  const [problem, setProblem] = useState<Problem | null>(null);
  const restart = async (): Promise<void> => {
    setProblem(null);
    setStep("signing");
    try {
      await signAndRestart(process.instance, signer);
      setStep("done");
    } catch (error) {
      setProblem(asProblem(error));
      setStep("asked");
    }
  };
  return (
    <Dialog title={`Restart ${process.job}`} onClose={props.onClose}>
      {problem !== null && <ProblemNotice problem={problem} />}
      {step === "done" ? (
        <p role="status">The process has accepted the request and ends. Its supervisor starts it again.</p>
      ) : (
        <>
          <p>
            The process at <code>{process.instance}</code> ends in order, and its supervisor starts it again. Nothing
            that it has to send is lost. Your wallet signs a text that is valid for two minutes, for this run of the
            process only.
          </p>
          <button type="button" class="button-main" disabled={step === "signing"} onClick={() => void restart()}>
            {step === "signing" ? "Waiting for the signature …" : "Sign and restart"}
          </button>
        </>
      )}
      <form method="dialog">
        <button type="submit">{step === "done" ? "Close" : "Cancel"}</button>
      </form>
    </Dialog>
  );
}

async function signAndRestart(instance: string, signer: Signer): Promise<void> {
  const path = "/v1/monitoring/restart";
  const asked = await request<ResourceAnswer<RestartMessage>>(`${path}/message`, {
    method: "POST",
    body: { instance },
  });
  const { message } = asked.data;
  const signature = await signer.signText(message);
  await request(path, { method: "POST", body: { instance, message, signature } });
}
