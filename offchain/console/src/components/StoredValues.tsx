/** Stored values of a block, decoded and as bytes, and the file that proves them. */

import { useState } from "preact/hooks";
import { asProblem, requestFile, type Problem } from "../api/client.ts";
import type { State, StoredValue } from "../api/types.ts";
import { saveFile } from "../lib/save_file.ts";
import { Empty, ProblemNotice } from "./loading.tsx";
import { Copy, Facts, Hash, Status, Time } from "./parts.tsx";

const MOST_SHOWN = 20_000;

export function StoredValues(props: { state: State; name: string; genesis: string }) {
  const { state } = props;
  return (
    <>
      <section class="card stack">
        <Facts
          facts={[
            ["Block", <a href={`/blocks/${state.block.number}`}>{state.block.number}</a>],
            ["Time", <Time ms={state.block.time_ms} />],
            ["Hash", <Hash hash={state.block.hash} whole />],
            ["State root", <Hash hash={state.state_root} whole what="state root" />],
          ]}
        />
        <SaveProof path={state.proof} file={`${props.name}-${state.block.number}.proof`} genesis={props.genesis} />
      </section>
      <section class="stack">
        <h2>Stored values</h2>
        {state.values.length === 0 && <Empty>There are no values.</Empty>}
        {state.values.map((value) => (
          <OneValue key={value.storage_key} value={value} />
        ))}
      </section>
    </>
  );
}

function SaveProof(props: { path: string; file: string; genesis: string }) {
  const [status, setStatus] = useState<"" | "busy" | "saved">("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const save = async (): Promise<void> => {
    setProblem(null);
    setStatus("busy");
    try {
      saveFile(props.file, [await requestFile(props.path)]);
      setStatus("saved");
    } catch (error) {
      setStatus("");
      setProblem(asProblem(error));
    }
  };
  const command = `gantry audit verify ${props.file} --genesis ${props.genesis}`;
  return (
    <div class="stack no-print">
      <p class="muted">
        A gateway can show wrong values. The proof leads from the genesis hash of the chain to these values; take that
        hash from a source that you trust, not from here.
      </p>
      {problem !== null && <ProblemNotice problem={problem} />}
      <div class="row">
        <button type="button" disabled={status === "busy"} onClick={() => void save()}>
          Save the proof
        </button>
        <span role="status">
          {status === "busy" && "The gateway makes the proof: this can take some seconds."}
          {status === "saved" && <Status phrase={{ icon: "done", text: "Saved. Verify it offline:", tone: "good" }} />}
        </span>
      </div>
      <div class="row">
        <pre tabIndex={0}>{command}</pre>
        <Copy text={command} what="command" />
      </div>
    </div>
  );
}

function OneValue(props: { value: StoredValue }) {
  const { value } = props;
  const [keys, decoded] = [JSON.stringify(value.keys), JSON.stringify(value.value, null, 2)];
  return (
    <article class="card stack" aria-label={`${value.pallet}.${value.item}`}>
      <h3>
        {value.pallet}.{value.item}
      </h3>
      <Facts
        facts={[
          ["Keys", value.keys.length === 0 ? undefined : <code>{keys}</code>],
          ["Stored", value.raw === null ? "nothing" : `${value.raw.length / 2 - 1} bytes`],
          ["Storage key", <Hash hash={value.storage_key} what="storage key" />],
        ]}
      />
      {value.raw === null && value.value === null ? null : (
        <>
          {value.raw === null && <p class="muted">Nothing is stored; this is the default of the item:</p>}
          <pre tabIndex={0} aria-label={`Value of ${value.pallet}.${value.item}`}>
            {shortened(decoded)}
          </pre>
        </>
      )}
      {value.raw !== null && (
        <details>
          <summary>Stored bytes</summary>
          <pre tabIndex={0}>{shortened(value.raw)}</pre>
        </details>
      )}
    </article>
  );
}

function shortened(text: string): string {
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}… (${text.length} characters)` : text;
}
