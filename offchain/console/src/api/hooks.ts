/** Hooks that read resources: what is loading, what was answered, what failed. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { asProblem, onBlock, request, type Problem } from "./client.ts";
import type { BlockReference, Page } from "./types.ts";

export interface Loaded<T> {
  data: T | null;
  problem: Problem | null;
  isLoading: boolean;
  /** Asks again; what is shown stays until the answer is there. */
  reload: () => void;
}

const RETRY_MS = 5_000;

/** Reads a resource again whenever its path changes; null: nothing. What another path answered is never shown. */
export function useResource<T>(path: string | null): Loaded<T> {
  const [found, setFound] = useState<{ path: string; data: T } | null>(null);
  const [failed, setFailed] = useState<{ path: string; problem: Problem } | null>(null);
  const [turn, setTurn] = useState(0);
  const reload = useCallback(() => setTurn((value) => value + 1), []);
  useEffect(() => {
    if (path === null) return undefined;
    const controller = new AbortController();
    let retry: ReturnType<typeof setTimeout> | undefined;
    request<T>(path, { signal: controller.signal }).then(
      (data) => {
        setFound({ path, data });
        setFailed(null);
      },
      (error: unknown) => {
        if (controller.signal.aborted) return;
        const problem = asProblem(error);
        setFailed({ path, problem });
        // What may be right a little later: no connection, an index that is not ready, too many requests.
        if (problem.status === 0 || problem.status === 429 || problem.status === 503)
          retry = setTimeout(reload, RETRY_MS);
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

/** Reads all pages of a list, at most `most` of them; `isComplete` is false if there are more. */
export function useAllPages<T>(path: string | null, most = 10): Loaded<T[]> & { isComplete: boolean } {
  const [found, setFound] = useState<{ path: string; rows: T[]; isComplete: boolean } | null>(null);
  const [failed, setFailed] = useState<{ path: string; problem: Problem } | null>(null);
  const [turn, setTurn] = useState(0);
  const reload = useCallback(() => setTurn((value) => value + 1), []);
  useEffect(() => {
    if (path === null) return undefined;
    const controller = new AbortController();
    const read = async (): Promise<void> => {
      const rows: T[] = [];
      let next: string | null = null;
      for (let page = 0; page < most; page += 1) {
        const after: string = next === null ? "" : `${path.includes("?") ? "&" : "?"}after=${encodeURIComponent(next)}`;
        const answer: Page<T> = await request<Page<T>>(path + after, { signal: controller.signal });
        rows.push(...answer.data);
        next = answer.next;
        if (next === null) break;
      }
      setFound({ path, rows, isComplete: next === null });
      setFailed(null);
    };
    read().catch((error: unknown) => {
      if (!controller.signal.aborted) setFailed({ path, problem: asProblem(error) });
    });
    return () => controller.abort();
  }, [path, turn, most]);
  const current = found !== null && found.path === path ? found : null;
  const problem = failed !== null && failed.path === path ? failed.problem : null;
  return {
    data: current?.rows ?? null,
    isComplete: current?.isComplete ?? true,
    problem,
    isLoading: path !== null && current === null && problem === null,
    reload,
  };
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
