/** What can go wrong between a page and a host. */

import { Problem } from "../api/client.ts";
import { escapedLine } from "../lib/terminal_escaping.ts";

/** Bytes of the other side that break the protocol. */
export class WireError extends Error {}

/** The way to the other side broke, or was closed. */
export class ConnectionLost extends Error {}

export interface Refusal {
  code: string;
  message: string;
  hint: string;
}

/** A host or gateway refuses; `code` is one of the protocol's. Its text is escaped: it may quote a program. */
export class HostRefused extends Problem {
  constructor(readonly refusal: Refusal) {
    super(0, refusal.code, escapedLine(refusal.message), escapedLine(refusal.hint), null);
  }
}

export class HostUnreachable extends Problem {
  /** `reason`: the part of the detail that is worth repeating where this way was part of another. */
  constructor(
    detail: string,
    hint = "Try again.",
    readonly reason = detail,
  ) {
    super(0, "host_unreachable", detail, hint, null);
  }
}

/** The host broke the protocol, or sent other bytes than those of the chain. */
export class HostMisbehaved extends Problem {
  constructor(detail: string) {
    super(0, "host_misbehaved", detail, "Do not trust what this host sent.", null);
  }
}

/** Returns the problem of a connection that broke. */
export function unreachable(error: ConnectionLost): HostUnreachable {
  return new HostUnreachable(`The connection to the host broke (${error.message}).`, "Try again.", error.message);
}
