/** Hooks that read resources: what is loading, what was answered, what failed. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { asProblem, isPassing, onBlock, request, type Problem } from "./client.ts";
import type { BlockReference, Page } from "./types.ts";

export interface Loaded<T> {
  data: T | null;
  problem: Problem | null;
  isLoading: boolean;
  /** Asks again; what is shown stays until the answer is there. */
  reload: () => void;
}

const RETRY_MS = 5_000;

/**
 * Reads something by its path, again whenever the path changes; null: nothing. What another path gave is never shown.
 * A failure that may pass is tried again.
 */
function useReader<T>(path: string | null, read: (path: string, signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [found, setFound] = useState<{ path: string; data: T } | null>(null);
  const [failed, setFailed] = useState<{ path: string; problem: Problem } | null>(null);
  const [turn, setTurn] = useState(0);
  const reload = useCallback(() => setTurn((value) => value + 1), []);
  const reader = useRef(read);
  reader.current = read;
  useEffect(() => {
    if (path === null) return undefined;
    const controller = new AbortController();
    let retry: ReturnType<typeof setTimeout> | undefined;
    reader.current(path, controller.signal).then(
      (data) => {
        if (controller.signal.aborted) return;
        setFound({ path, data });
        setFailed(null);
      },
      (error: unknown) => {
        if (controller.signal.aborted) return;
        const problem = asProblem(error);
        setFailed({ path, problem });
        if (isPassing(problem)) retry = setTimeout(reload, RETRY_MS);
      },
    );
    return () => {
      controller.abort();
      clearTimeout(retry);
    };
  }, [path, turn, reload]);
  const data = found !== null && found.path === path ? found.data : null;
  const problem = failed !== null && failed.path === path ? failed.problem : null;
  return { data, problem, isLoading: path !== null && data === null && problem === null, reload };
}

/** Reads a resource. */
export function useResource<T>(path: string | null): Loaded<T> {
  return useReader(path, (from, signal) => request<T>(from, { signal }));
}

/** Reads all pages of a list, at most `most` of them; `isComplete` is false if there are more. */
export function useAllPages<T>(path: string | null, most = 10): Loaded<T[]> & { isComplete: boolean } {
  const { data, ...state } = useReader(path, (from, signal) => allPages<T>(from, most, signal));
  return { ...state, data: data?.rows ?? null, isComplete: data?.isComplete ?? true };
}

async function allPages<T>(
  path: string,
  most: number,
  signal: AbortSignal,
): Promise<{ rows: T[]; isComplete: boolean }> {
  const rows: T[] = [];
  let next: string | null = null;
  for (let page = 0; page < most; page += 1) {
    const after: string = next === null ? "" : `${path.includes("?") ? "&" : "?"}after=${encodeURIComponent(next)}`;
    const answer: Page<T> = await request<Page<T>>(path + after, { signal });
    rows.push(...answer.data);
    next = answer.next;
    if (next === null) break;
  }
  return { rows, isComplete: next === null };
}

/** Returns the newest block of any answer. */
export function useBlock(): BlockReference | null {
  const [block, setBlock] = useState<BlockReference | null>(null);
  useEffect(() => onBlock(setBlock), []);
  return block;
}

/** Returns a function that is called at most once in `ms`, at the end of that time. */
export function useThrottled(call: () => void, ms: number): () => void {
  const latest = useRef(call);
  latest.current = call;
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return useCallback(() => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      latest.current();
    }, ms);
  }, [ms]);
}

/** Returns a value that follows another one after it has not changed for `ms`. */
export function useDebounced<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

/** Sets the title of the page. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title === "" ? "Gantry" : `${title} · Gantry`;
  }, [title]);
}
