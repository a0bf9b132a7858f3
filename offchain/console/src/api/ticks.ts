/**
 * New blocks for pages about the whole network. They ask for the last block every two seconds, which costs the same on
 * a network of any size; the stream of all events does not. A hidden page asks nothing.
 */

import { useEffect, useRef, useState } from "preact/hooks";
import { request } from "./client.ts";
import type { StreamState } from "./stream.ts";

const EVERY_MS = 2_000;

/** Calls a function after each new final block of the index, and returns whether the page follows them. */
export function useBlockTicks(onTick: () => void): StreamState {
  const [state, setState] = useState<StreamState>("connecting");
  const latest = useRef(onTick);
  latest.current = onTick;
  useEffect(() => {
    let seen: number | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let controller = new AbortController();
    const ask = async (): Promise<void> => {
      controller = new AbortController();
      const { signal } = controller;
      try {
        const { as_of } = await request<{ as_of: { number: number } }>("/v1/network", { signal });
        setState("live");
        if (seen !== null && as_of.number > seen) latest.current();
        seen = as_of.number;
      } catch {
        if (signal.aborted) return;
        setState("connecting");
      }
      if (!signal.aborted) timer = setTimeout(() => void ask(), EVERY_MS);
    };
    const stop = (): void => {
      clearTimeout(timer);
      controller.abort();
    };
    const follow = (): void => {
      stop();
      if (document.hidden) setState("paused");
      else void ask();
    };
    follow();
    document.addEventListener("visibilitychange", follow);
    return () => {
      document.removeEventListener("visibilitychange", follow);
      stop();
    };
  }, []);
  return state;
}
