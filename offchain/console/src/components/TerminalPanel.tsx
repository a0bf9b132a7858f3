/** A terminal in a pod: a shell that runs in it, over a connection that is encrypted for its host. */

import { useEffect, useRef, useState } from "preact/hooks";
import { asProblem, type Problem } from "../api/client.ts";
import type { Lease, Network } from "../api/types.ts";
import { hostClient } from "../host/pods.ts";
import type { RemoteProgram } from "../host/remote_program.ts";
import type { TerminalScreen } from "../terminal/screen.ts";
import { Empty, ProblemNotice } from "./loading.tsx";

/** As `gantry shell`: bash if it is there, else sh. */
const SHELL = ["sh", "-c", "if command -v bash >/dev/null 2>&1; then exec bash -l; else exec sh -l; fi"] as const;
const LEAVE_KEY = "Ctrl+Shift+L";

interface TerminalState {
  text: string;
  isOver: boolean;
  problem: Problem | null;
}

const CONNECTING: TerminalState = { text: "Connecting to the host …", isOver: false, problem: null };

export function TerminalPanel(props: { lease: Lease; network: Network }) {
  const { lease, network } = props;
  const [state, setState] = useState<TerminalState>(CONNECTING);
  const [turn, setTurn] = useState(0);
  const [isForScreenReaders, setIsForScreenReaders] = useState(false);
  const place = useRef<HTMLDivElement>(null);
  const screen = useRef<TerminalScreen | null>(null);
  const after = useRef<HTMLButtonElement>(null);
  const isRunning = lease.state === "Active";

  useEffect(() => {
    if (!isRunning || place.current === null) return undefined;
    const area = place.current;
    let isOver = false;
    let program: RemoteProgram | null = null;
    const say = (text: string): void => setState({ text, isOver: false, problem: null });
    const failed = (error: unknown): void => {
      if (!isOver && program?.exitCode == null) setState({ text: "", isOver: true, problem: asProblem(error) });
    };
    const toProgram = (work: (running: RemoteProgram) => Promise<void>): void => {
      // The last keys may come when the program has ended already.
      if (program !== null && program.exitCode === null) work(program).catch(failed);
    };
    const run = async (): Promise<void> => {
      const [client, { TerminalScreen }] = await Promise.all([
        hostClient(network, lease.host),
        import("../terminal/screen.ts"),
      ]);
      if (isOver) return;
      const shown = new TerminalScreen(
        area,
        {
          onInput: (data) => toProgram((running) => running.write(data)),
          onResize: (rows, columns) => toProgram((running) => running.resize(rows, columns)),
          onLeave: () => after.current?.focus(),
        },
        { isForScreenReaders },
      );
      screen.current = shown;
      const { rows, columns } = shown;
      const started = await client.exec(BigInt(lease.lease), SHELL, rows, columns);
      program = started;
      if (isOver) return started.kill();
      if (shown.rows !== rows || shown.columns !== columns) shown.tellSize();
      started.onBreak = (reason) =>
        say(reason === null ? "Connected again; nothing was lost" : `${reason} Connecting again …`);
      say("Connected");
      area.scrollIntoView({ block: "nearest" });
      shown.focus();
      for (let data = await started.read(); data !== null; data = await started.read()) {
        if (isOver) return;
        await shown.write(data);
      }
      setState({ text: `The shell ended with exit code ${started.exitCode}`, isOver: true, problem: null });
    };
    setState(CONNECTING);
    run().catch(failed);
    return () => {
      isOver = true;
      program?.kill();
      screen.current?.close();
      screen.current = null;
    };
  }, [lease.lease, turn, isRunning]);

  if (!isRunning) return <Empty>A terminal needs a running pod, and this one has ended or was stopped.</Empty>;
  const paste = async (): Promise<void> => {
    screen.current?.paste(await navigator.clipboard.readText());
    screen.current?.focus();
  };
  return (
    <section class="card stack" aria-label="Terminal">
      <div class="row">
        <h3>Terminal</h3>
        <span class="muted" role="status">
          {state.text}
        </span>
        {state.isOver && (
          <button type="button" onClick={() => setTurn(turn + 1)}>
            Start a new shell
          </button>
        )}
      </div>
      {state.problem !== null && <ProblemNotice problem={state.problem} />}
      <div class="terminal" key={turn} ref={place} role="group" aria-label={`Terminal of pod ${lease.pod}`} />
      <div class="row">
        <button
          type="button"
          ref={after}
          onClick={() => void navigator.clipboard?.writeText(screen.current?.selection ?? "")}
        >
          Copy selection
        </button>
        <button type="button" onClick={() => void paste().catch(() => undefined)}>
          Paste
        </button>
        <label class="field-inline">
          <input
            type="checkbox"
            checked={isForScreenReaders}
            onChange={(event) => {
              setIsForScreenReaders(event.currentTarget.checked);
              screen.current?.setScreenReaderMode(event.currentTarget.checked);
            }}
          />
          For screen readers
        </label>
      </div>
      <p class="muted small">
        All keys go to the pod, Tab as well. <kbd>{LEAVE_KEY}</kbd> leaves the terminal, <kbd>Ctrl+Shift+C</kbd> copies,{" "}
        <kbd>Ctrl+Shift+V</kbd> pastes. A connection that breaks is restored within a minute, with the same shell.
      </p>
    </section>
  );
}
