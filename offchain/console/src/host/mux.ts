/**
 * Multiplexer: many sessions over one stream of bytes, without IO (offchain/schema/protocol/mux.py). A page always is the
 * side that dialled: it opens the sessions, and the host answers them. Bytes of a body may be sent only if the other
 * side has granted credit for them, so a slow reader of one session delays no other and costs no memory.
 */

import { bigEndian, type Bytes, concat, numberAt, utf8 } from "../lib/bytes.ts";
import { type Refusal, WireError } from "./errors.ts";
import { encodeFrame, type Frame, FrameReader, MAX_DATA } from "./frames.ts";
import {
  type Answer,
  canonicalJson,
  decodeAnswer,
  decodeRefusal,
  encodeRefusal,
  integer,
  jsonObject,
} from "./messages.ts";
import { type SessionMove, type SessionState, TABLE } from "./session_states.ts";

const PROTOCOL = "gantry/host";
const OLDEST_VERSION = 2;
const NEWEST_VERSION = 2;
export const MAX_SESSIONS = 64;
/** The most bytes that a side may have granted in one session. */
const MAX_WINDOW = 8 * 2 ** 20;
const CHANNELS = 4;
/** MAIN: the body, or a program's input and, with a terminal, its output. OUT, ERR: its outputs. */
export const MAIN = 0;
export const CONTROL = 3;

export type MuxEvent =
  | { kind: "ready"; version: number }
  | { kind: "accepted"; session: number; answer: Answer }
  | { kind: "refused" | "reset"; session: number; refusal: Refusal }
  | { kind: "received"; session: number; channel: number; data: Bytes }
  | { kind: "ended" | "granted"; session: number }
  | { kind: "gone"; refusal: Refusal };

/** An action that the protocol does not allow this side now. */
export class LocalProtocolError extends Error {}

interface MuxSession {
  state: SessionState;
  maySend: number;
  mayReceive: number;
  /** Bytes that were consumed here and are not yet granted again. */
  used: number;
  window: number;
}

export class Mux {
  #reader = new FrameReader();
  #out: Bytes[] = [];
  #pending = 0;
  #sessions = new Map<number, MuxSession>();
  #last = 0;
  #version: number | null = null;
  #isOver = false;

  constructor() {
    const hello = { protocol: PROTOCOL, oldest: OLDEST_VERSION, newest: NEWEST_VERSION };
    this.#send(encodeFrame("HELLO", 0, utf8(canonicalJson(hello))));
  }

  /** The version that both sides speak; null before the HELLO of the other side. */
  get version(): number | null {
    return this.#version;
  }

  /** Number of bytes that wait to be sent. */
  get pending(): number {
    return this.#pending;
  }

  /** Returns whether the session is not over. */
  isOpen(session: number): boolean {
    return this.#sessions.has(session);
  }

  /** Returns all bytes to send. */
  take(): Bytes {
    const taken = concat(...this.#out);
    this.#out = [];
    this.#pending = 0;
    return taken;
  }

  /** Opens a session and returns its number. The host may send `window` bytes before more is granted. */
  open(request: Bytes, window: number): number {
    if (this.#isOver) throw new LocalProtocolError("this connection takes no more sessions");
    if (this.#sessions.size >= MAX_SESSIONS) throw new LocalProtocolError(`${MAX_SESSIONS} sessions are open already`);
    const frame = encodeFrame("OPEN", this.#last + 1, request);
    this.#last += 1;
    const granted = Math.min(window, MAX_WINDOW);
    this.#sessions.set(this.#last, { state: "ASKED", maySend: 0, mayReceive: granted, used: 0, window: granted });
    this.#send(frame);
    if (granted > 0) this.#send(encodeFrame("CREDIT", this.#last, bigEndian(granted, 4)));
    return this.#last;
  }

  /** Returns the number of bytes that one call of `data` may send now. */
  room(session: number): number {
    const found = this.#sessions.get(session);
    return found === undefined ? 0 : Math.min(Math.max(found.maySend - 1, 0), MAX_DATA);
  }

  /** Sends bytes of a channel, at most `room`. */
  data(session: number, channel: number, content: Uint8Array): void {
    if (content.length > this.room(session)) {
      throw new LocalProtocolError(`${content.length} bytes are more than may be sent now`);
    }
    const found = this.#here(session, "DATA_HERE");
    found.maySend -= content.length + 1;
    this.#send(encodeFrame("DATA", session, bigEndian(channel, 1), content));
  }

  /** Ends the sending direction of a session. */
  end(session: number): void {
    this.#here(session, "END_HERE");
    this.#send(encodeFrame("END", session));
  }

  /** Drops a session. Does nothing if it is over already. */
  reset(session: number, refusal: Refusal): void {
    if (!this.#sessions.has(session)) return;
    this.#here(session, "RESET");
    this.#send(encodeFrame("RESET", session, encodeRefusal(refusal)));
  }

  /** Reports that received bytes were used. At half of the window, the same number is granted again. */
  consumed(session: number, size: number): void {
    const found = this.#sessions.get(session);
    if (found === undefined || found.state === "ENDED_THERE") return;
    found.used += size;
    if (found.used > 0 && found.used * 2 >= found.window) {
      found.mayReceive += found.used;
      this.#send(encodeFrame("CREDIT", session, bigEndian(found.used, 4)));
      found.used = 0;
    }
  }

  /** Returns the events in received bytes. Throws WireError, after which nothing more may be received. */
  receive(data: Uint8Array): MuxEvent[] {
    const events: MuxEvent[] = [];
    for (const frame of this.#reader.feed(data)) {
      const event = this.#received(frame);
      if (event !== null) events.push(event);
    }
    return events;
  }

  #received(frame: Frame): MuxEvent | null {
    if (this.#version === null && frame.kind !== "HELLO" && frame.kind !== "GOAWAY") {
      throw new WireError(`${frame.kind} came before HELLO`);
    }
    if (frame.kind === "HELLO") return this.#hello(frame);
    if (frame.kind === "GOAWAY") {
      this.#isOver = true;
      return { kind: "gone", refusal: decodeRefusal(frame.payload) };
    }
    if (frame.kind === "OPEN") throw new WireError("the host may not open sessions");
    const found = this.#sessions.get(frame.session);
    if (found !== undefined) return this.#inSession(frame, found);
    // Frames that crossed our reset are no fault; those of a session that never was, are.
    if (frame.session < 1 || frame.session > this.#last) {
      throw new WireError(`${frame.kind} for session ${frame.session}, which was never opened`);
    }
    return null;
  }

  #inSession(frame: Frame, found: MuxSession): MuxEvent {
    const { session, payload } = frame;
    switch (frame.kind) {
      case "ACCEPT":
        this.#move(session, found, "ACCEPT");
        return { kind: "accepted", session, answer: decodeAnswer(payload) };
      case "REFUSE":
        this.#move(session, found, "REFUSE");
        return { kind: "refused", session, refusal: decodeRefusal(payload) };
      case "DATA": {
        this.#move(session, found, "DATA_THERE");
        const channel = payload[0];
        if (channel === undefined || channel >= CHANNELS) throw new WireError("DATA without a known channel");
        found.mayReceive -= payload.length;
        if (found.mayReceive < 0) throw new WireError(`more DATA in session ${session} than was granted`);
        return { kind: "received", session, channel, data: payload.slice(1) };
      }
      case "END":
        this.#move(session, found, "END_THERE");
        return { kind: "ended", session };
      case "CREDIT": {
        this.#move(session, found, "CREDIT");
        const more = payload.length === 4 ? numberAt(payload, 0, 4) : 0;
        if (more === 0 || found.maySend + more > MAX_WINDOW) throw new WireError(`CREDIT of ${more} bytes`);
        found.maySend += more;
        return { kind: "granted", session };
      }
      default:
        this.#move(session, found, "RESET");
        return { kind: "reset", session, refusal: decodeRefusal(payload) };
    }
  }

  #hello(frame: Frame): MuxEvent {
    if (this.#version !== null) throw new WireError("a second HELLO");
    const fields = jsonObject(frame.payload);
    if (fields["protocol"] !== PROTOCOL) throw new WireError("the other side does not speak gantry/host");
    const oldest = integer(fields, "oldest", 65_535);
    const newest = integer(fields, "newest", 65_535);
    const version = Math.min(newest, NEWEST_VERSION);
    if (version < Math.max(oldest, OLDEST_VERSION)) {
      throw new WireError(
        `no common version: this page speaks ${OLDEST_VERSION} to ${NEWEST_VERSION}, the other side ${oldest} to ${newest}`,
      );
    }
    this.#version = version;
    return { kind: "ready", version };
  }

  #send(data: Bytes): void {
    this.#out.push(data);
    this.#pending += data.length;
  }

  #here(session: number, move: SessionMove): MuxSession {
    const found = this.#sessions.get(session);
    if (found === undefined) throw new LocalProtocolError(`session ${session} is over`);
    const target = TABLE[found.state]?.[move];
    if (target === undefined) throw new LocalProtocolError(`${move} in session ${session}, which is ${found.state}`);
    this.#to(session, found, target);
    return found;
  }

  #move(session: number, found: MuxSession, move: SessionMove): void {
    const target = TABLE[found.state]?.[move];
    if (target === undefined) throw new WireError(`${move} in session ${session}, which is ${found.state}`);
    this.#to(session, found, target);
  }

  #to(session: number, found: MuxSession, target: SessionState): void {
    found.state = target;
    if (target === "CLOSED") this.#sessions.delete(session);
  }
}
