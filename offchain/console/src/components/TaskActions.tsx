/** What the tenant of a task can do with it now. */

import { useState } from "preact/hooks";
import type { Lease, Task } from "../api/types.ts";
import { digitsOf } from "../lib/bytes.ts";
import { parseAmount } from "../lib/money.ts";
import { isFinal, variantName } from "../lib/states.ts";
import type { CallChoice } from "../wallet/calls.ts";
import { CallDialog } from "./CallDialog.tsx";
import { Wrong } from "./parts.tsx";

interface Chosen {
  title: string;
  call: CallChoice;
}

interface ActionsProps {
  task: Task;
  leases: readonly Lease[];
  onDone: () => void;
}

export function TaskActions(props: ActionsProps) {
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const { task, leases } = props;
  const state = variantName(task.state);
  const isJob = task.kind === "Job";
  const isLive = leases.some((lease) => lease.ended_ms === null && lease.started_ms !== null);
  const canRate = state === "Settled" && leases.some((lease) => lease.started_ms !== null && lease.stars === null);
  const canStop = !isFinal(task.state) && !["Reported", "Verified", "Disputed"].includes(state);
  const choose = (title: string, call: CallChoice): void => setChosen({ title, call });
  const forTask = { task: task.task };
  const nothing = !canStop && state !== "Reported" && !canRate && (isJob || !isLive);
  return (
    <section class="card stack no-print" aria-label="Actions">
      <h2>Actions</h2>
      {nothing && <p class="muted">There is nothing to do for this task now.</p>}
      <div class="row">
        {canStop && (
          <button type="button" onClick={() => choose("Stop the task", { action: "task.stop", ...forTask })}>
            Stop
          </button>
        )}
        {state === "Reported" && (
          <button
            type="button"
            class="button-main"
            onClick={() => choose("Accept the result", { action: "task.accept", ...forTask })}
          >
            Accept the result
          </button>
        )}
        {task.kind === "Rental" && leases.some((lease) => lease.state === "Active") && (
          <button type="button" onClick={() => choose("Stop the machine", { action: "task.suspend", ...forTask })}>
            Stop the machine, keep its disk
          </button>
        )}
        {task.kind === "Rental" && leases.some((lease) => lease.state === "Suspended") && (
          <button type="button" onClick={() => choose("Start the machine", { action: "task.resume", ...forTask })}>
            Start the machine
          </button>
        )}
      </div>
      {!isJob && isLive && (
        <>
          <NumberAction
            label="Extend by hours"
            button="Extend"
            parse={(text) => ({ ms: Math.round(positive(text) * 3_600_000) })}
            onChoose={(fields) => choose("Extend the task", { action: "task.extend", ...forTask, ...fields })}
          />
          <NumberAction
            label="Top up by GTY (pod 0)"
            button="Top up"
            parse={(text) => ({ amount: parseAmount(text).toString() })}
            onChoose={(fields) => choose("Top up the deposit", { action: "task.top_up", ...forTask, ...fields })}
          />
        </>
      )}
      {task.kind === "Service" && isLive && (
        <NumberAction
          label="Number of pods"
          button="Scale"
          parse={(text) => ({ pods: wholeNumber(text) })}
          onChoose={(fields) => choose("Scale the service", { action: "task.scale", ...forTask, ...fields })}
        />
      )}
      {state === "Reported" && (
        <Dispute
          onChoose={(digest) =>
            choose("Dispute the result", { action: "task.dispute", ...forTask, evidence_sha256: digest })
          }
        />
      )}
      {canRate && <Rate onChoose={(stars) => choose("Rate the hosts", { action: "task.rate", ...forTask, stars })} />}
      {chosen !== null && <CallDialog {...chosen} onClose={() => setChosen(null)} onFinal={props.onDone} />}
    </section>
  );
}

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0) || !Number.isFinite(value)) throw new Error(`“${text}” is no number above 0.`);
  return value;
}

function wholeNumber(text: string): number {
  if (!/^\s*[1-9]\d{0,5}\s*$/.test(text)) throw new Error(`“${text}” is no whole number above 0.`);
  return Number(text);
}

/** A field with a button beside it; what is wrong with the value is said below. */
function NumberAction(props: {
  label: string;
  button: string;
  parse: (text: string) => Record<string, unknown>;
  onChoose: (fields: Record<string, unknown>) => void;
}) {
  const [text, setText] = useState("");
  const [wrong, setWrong] = useState("");
  const submit = (event: Event): void => {
    event.preventDefault();
    try {
      props.onChoose(props.parse(text));
      setWrong("");
    } catch (error) {
      setWrong(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <form onSubmit={submit}>
      <label class="field">
        {props.label}
        <span class="row">
          <input
            inputMode="decimal"
            value={text}
            maxLength={40}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <button type="submit">{props.button}</button>
        </span>
      </label>
      <Wrong>{wrong}</Wrong>
    </form>
  );
}

/** The evidence of a dispute: only its SHA-256 goes onto the chain; the file does not leave the browser. */
function Dispute(props: { onChoose: (digest: string) => void }) {
  const [digest, setDigest] = useState("");
  const [wrong, setWrong] = useState("");
  const read = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    // Browsers hash on TLS and loopback only.
    if (crypto.subtle === undefined) {
      setWrong("This browser hashes files only over TLS. Compute the SHA-256 yourself: sha256sum FILE.");
      return;
    }
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
    setDigest(digitsOf(hash));
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    const isDigest = /^(0x)?[0-9a-fA-F]{64}$/.test(digest.trim());
    setWrong(isDigest ? "" : "The SHA-256 of the evidence has 64 hex digits.");
    if (isDigest) props.onChoose(digest.trim());
  };
  return (
    <form class="stack" onSubmit={submit}>
      <h3>Dispute the result</h3>
      <p class="muted small">A jury decides; who loses pays. A stake is held until then.</p>
      <label class="field">
        File with the evidence (only its SHA-256 is sent)
        <input type="file" onChange={(event) => void read(event.currentTarget.files?.[0])} />
      </label>
      <label class="field">
        SHA-256 of the evidence
        <input class="mono" value={digest} maxLength={66} onInput={(event) => setDigest(event.currentTarget.value)} />
      </label>
      <Wrong>{wrong}</Wrong>
      <button type="submit">Dispute</button>
    </form>
  );
}

function Rate(props: { onChoose: (stars: number) => void }) {
  const [stars, setStars] = useState(5);
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        props.onChoose(stars);
      }}
    >
      <label class="field">
        Rating of its hosts
        <select value={stars} onChange={(event) => setStars(Number(event.currentTarget.value))}>
          {[5, 4, 3, 2, 1].map((one) => (
            <option key={one} value={one}>
              {one} of 5 stars
            </option>
          ))}
        </select>
      </label>
      <button type="submit">Rate</button>
    </form>
  );
}
