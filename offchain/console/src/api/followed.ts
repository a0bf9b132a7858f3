/** A record and the events about it, read again when the stream has a new one. */

import { apiQuery } from "../lib/url_state.ts";
import { useAllPages, useResource, useThrottled, type Loaded } from "./hooks.ts";
import { useEventStream, type StreamState } from "./stream.ts";
import type { Event, ResourceAnswer } from "./types.ts";

const REFRESH_MS = 500;

export interface Followed<T> {
  record: Loaded<ResourceAnswer<T>>;
  events: Loaded<Event[]> & { isComplete: boolean };
  stream: StreamState;
}

/** `path`: of the record. `subject`: what events mention; `pallet`: only those of one, or "". */
export function useFollowed<T>(path: string, subject: string, pallet = ""): Followed<T> {
  const record = useResource<ResourceAnswer<T>>(path);
  const isKnown = record.data !== null;
  const query = apiQuery({ subject, pallet, order: "oldest", limit: "500", documented: "true" });
  const events = useAllPages<Event>(isKnown ? `/v1/events${query}` : null, 2);
  const reload = useThrottled(() => {
    record.reload();
    events.reload();
  }, REFRESH_MS);
  const stream = useEventStream(isKnown ? { subject } : null, reload);
  return { record, events, stream };
}
