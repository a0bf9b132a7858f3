/** The log of a pod, from its host: its end, followed while the pod runs. */

import { useEffect, useRef, useState } from "preact/hooks";
import { asProblem, type Problem } from "../api/client.ts";
import type { Lease, Network } from "../api/types.ts";
import { wholeBody } from "../host/peer.ts";
import { hostClient } from "../host/pods.ts";
import { Signal } from "../host/stream.ts";
import { LogWindow } from "../lib/log_window.ts";
import { saveFile } from "../lib/save_file.ts";
import { StreamEscaper } from "../lib/terminal_escaping.ts";
import { ProblemNotice } from "./loading.tsx";

const TAIL_LINES = 1_000;
/** More than a host keeps of one pod. */
const MAX_DOWNLOAD = 64 * 2 ** 20;
const UNSEEN_MS = 200;

type State = "connecting" | "following" | "ended";
const TEXTS: Readonly<Record<State, string>> = {
  connecting: "Connecting to the host …",
  following: "Following",
  ended: "End of the log",
};

export function LogPanel(props: { lease: Lease; network: Network }) {
  const { lease, network } = props;
  const [state, setState] = useState<State>("connecting");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isPaused, setIsPaused] = useState(false);
  const [hasDropped, setHasDropped] = useState(false);
  const [turn, setTurn] = useState(0);
  const [saved, setSaved] = useState("");
  const view = useRef<HTMLPreElement>(null);
  const pause = useRef({ isOn: false, changed: new Signal() });

  useEffect(() => {
    let isOver = false;
    let end = (): void => undefined;
    const run = async (): Promise<void> => {
      const client = await hostClient(network, lease.host);
      if (isOver) return;
      const session = await client.logs(BigInt(lease.lease), lease.ended_ms === null, TAIL_LINES);
      end = () => session.drop();
      if (isOver) return end();
      setState("following");
      const escaper = new StreamEscaper();
      const shown = new LogWindow();
      const add = (text: string): void => {
        if (text !== "" && view.current !== null && append(view.current, shown, text)) setHasDropped(true);
      };
      for (;;) {
        // A log that is not read stops at the host: nothing piles up here.
        while (pause.current.isOn && !isOver) await pause.current.changed.wait();
        const piece = await session.readMain();
        if (isOver) return;
        if (piece === null) break;
        add(escaper.feed(piece));
        await nextFrame();
      }
      add(escaper.end());
      session.drop();
      setState("ended");
    };
    if (view.current !== null) view.current.textContent = "";
    setProblem(null);
    setHasDropped(false);
    setState("connecting");
    run().catch((error: unknown) => {
      if (isOver) return;
      setProblem(asProblem(error));
      setState("ended");
    });
    return () => {
      isOver = true;
      end();
      pause.current.changed.fire();
    };
  }, [lease.lease, turn]);

  const toggle = (): void => {
    pause.current.isOn = !isPaused;
    pause.current.changed.fire();
    setIsPaused(!isPaused);
  };
  const download = async (): Promise<void> => {
    setSaved("Fetching the whole log …");
    try {
      const client = await hostClient(network, lease.host);
      const session = await client.logs(BigInt(lease.lease), false, null);
      const body = await wholeBody(session, MAX_DOWNLOAD);
      saveFile(`task-${lease.task}-pod-${lease.pod}.log`, [body]);
      setSaved(`${body.length} bytes were saved, with all control sequences.`);
    } catch (error) {
      setSaved("");
      setProblem(asProblem(error));
    }
  };
  return (
    <section class="card stack" aria-label="Log">
      <div class="row">
        <h3>Log</h3>
        <span class="muted" role="status">
          {isPaused && state === "following" ? "Paused" : TEXTS[state]}
        </span>
        {state === "following" && (
          <button type="button" aria-pressed={isPaused} onClick={toggle}>
            Pause
          </button>
        )}
        {state === "ended" && (
          <button type="button" onClick={() => setTurn(turn + 1)}>
            Load again
          </button>
        )}
        <button type="button" onClick={() => void download()}>
          Download
        </button>
        <span class="muted" role="status">
          {saved}
        </span>
      </div>
      {problem !== null && <ProblemNotice problem={problem} />}
      {hasDropped && <p class="muted small">Earlier lines are not shown any more. Download has the whole log.</p>}
      <pre class="log" ref={view} tabIndex={0} role="log" aria-live="off" aria-label={`Log of pod ${lease.pod}`} />
    </section>
  );
}

/** Waits until the page was drawn, or a moment where it is not visible: a log that is long must not block the page. */
function nextFrame(): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, UNSEEN_MS);
    requestAnimationFrame(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Adds text to the end of the view, which stays at its end if it was there. Returns whether old text was removed. */
function append(view: HTMLElement, shown: LogWindow, text: string): boolean {
  const isAtEnd = view.scrollHeight - view.scrollTop - view.clientHeight < 40;
  const piece = shown.add(text);
  view.append(piece.shown);
  for (let count = 0; count < piece.removed; count += 1) view.firstChild?.remove();
  if (isAtEnd) view.scrollTop = view.scrollHeight;
  return piece.removed > 0 || piece.shown.length < text.length;
}
