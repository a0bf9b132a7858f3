/** What stands in place of data: loading, nothing there, an error. */

import type { ComponentChildren } from "preact";
import type { Loaded } from "../api/hooks.ts";
import type { Problem } from "../api/client.ts";
import { Icon } from "./Icon.tsx";

export function Loading(props: { what: string }) {
  return (
    <p class="muted appears" role="status">
      Loading {props.what} …
    </p>
  );
}

export function Empty(props: { children: ComponentChildren }) {
  return <div class="notice muted">{props.children}</div>;
}

const TITLES: Readonly<Record<string, string>> = {
  not_found: "Not found",
  events_pruned: "No longer in the index",
  too_many_requests: "Too many requests",
  index_busy: "The index is not ready",
  index_halted: "The index has stopped",
  unreachable: "No connection",
  not_signed_in: "Not signed in",
  read_too_long: "This read takes too long",
  host_unreachable: "The host cannot be reached",
  host_misbehaved: "The host does not keep to the rules",
  BadDelegation: "The session key is not valid for this",
  NotAttached: "The host is not attached to this gateway",
  NotReady: "Not ready yet",
  Gone: "No longer there",
};

/** An error: what happened, the field at fault, and what to do. */
export function ProblemNotice(props: { problem: Problem; retry?: (() => void) | undefined }) {
  const { problem } = props;
  return (
    <div class="notice notice-bad" role="alert">
      <p>
        <strong>
          <Icon name="failed" /> {TITLES[problem.code] ?? "Error"}
        </strong>
        {problem.field !== null && (
          <>
            {" "}
            in <code>{problem.field}</code>
          </>
        )}
      </p>
      <p>{problem.message}</p>
      {problem.hint !== "" && <p class="muted">{problem.hint}</p>}
      {props.retry !== undefined && problem.status !== 404 && (
        <p>
          <button type="button" onClick={props.retry}>
            Try again
          </button>
        </p>
      )}
    </div>
  );
}

/** Shows what is loaded, or what is in its place. An error beside old data is shown above it. */
export function Load<T>(props: { of: Loaded<T>; what: string; children: (data: T) => ComponentChildren }) {
  const { data, problem, reload } = props.of;
  return (
    <>
      {problem !== null && <ProblemNotice problem={problem} retry={reload} />}
      {data === null && problem === null && <Loading what={props.what} />}
      {data !== null && props.children(data)}
    </>
  );
}
