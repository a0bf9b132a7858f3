/** The stream of events. A hidden page has none: browsers allow six connections to a gateway, for all their tabs. */

import { useEffect, useRef, useState } from "preact/hooks";
import { apiQuery } from "../lib/url_state.ts";
import { noteBlock } from "./client.ts";
import type { Event } from "./types.ts";

const RETRY_MS = 5_000;

export type StreamState = "connecting" | "live" | "paused";

export interface StreamChoice {
  subject?: string;
  pallet?: string;
  name?: string;
}

/** Calls a function with each new event, and returns the state of the stream. `choice` null: no stream. */
export function useEventStream(choice: StreamChoice | null, onEvent: (event: Event) => void): StreamState {
  const [state, setState] = useState<StreamState>("connecting");
  const latest = useRef(onEvent);
  latest.current = onEvent;
  const query = choice === null ? null : apiQuery({ ...choice });
  useEffect(() => {
    if (query === null) {
      setState("paused");
      return undefined;
    }
    let source: EventSource | null = null;
    let lastId = "";
    let retry: ReturnType<typeof setTimeout> | undefined;
    const open = (): void => {
      if (source !== null) return;
      const after = lastId === "" ? "" : `${query === "" ? "?" : "&"}after=${lastId}`;
      source = new EventSource(`/v1/events/stream${query}${after}`);
      setState("connecting");
      source.onopen = () => setState("live");
      source.onerror = () => {
        setState("connecting");
        // A refused stream (too many, or events that are pruned) is not opened again by the browser.
        if (source?.readyState === EventSource.CLOSED) {
          close();
          lastId = "";
          retry = setTimeout(follow, RETRY_MS);
        }
      };
      source.onmessage = (message: MessageEvent<string>) => {
        lastId = message.lastEventId;
        const event = JSON.parse(message.data) as Event;
        noteBlock({ number: event.block, hash: "", time_ms: event.time_ms });
        latest.current(event);
      };
    };
    const close = (): void => {
      source?.close();
      source = null;
      setState("paused");
    };
    const follow = (): void => (document.hidden ? close() : open());
    follow();
    document.addEventListener("visibilitychange", follow);
    return () => {
      document.removeEventListener("visibilitychange", follow);
      clearTimeout(retry);
      source?.close();
    };
  }, [query]);
  return state;
}
