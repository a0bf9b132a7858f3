import type { StreamState } from "../api/stream.ts";
import { Status } from "./parts.tsx";

const PHRASES = {
  live: { icon: "online", text: "live", tone: "good" },
  connecting: { icon: "waiting", text: "connecting", tone: "idle" },
  paused: { icon: "paused", text: "paused", tone: "idle" },
} as const;

/** Whether a page follows the events of the chain. */
export function Live(props: { state: StreamState }) {
  return <Status phrase={PHRASES[props.state]} />;
}
