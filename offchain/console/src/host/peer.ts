/** A connection to a host or gateway that many sessions share, and its sessions. */

import { type Bytes, concat } from "../lib/bytes.ts";
import {
  ConnectionLost,
  HostMisbehaved,
  HostRefused,
  HostUnreachable,
  type Refusal,
  unreachable,
  WireError,
} from "./errors.ts";
import type { Answer } from "./messages.ts";
import { CONTROL, LocalProtocolError, MAIN, Mux, type MuxEvent } from "./mux.ts";
import { type ByteStream, Signal } from "./stream.ts";

/** Credit for a body, bytes; for files, so that latency does not limit their speed. */
export const WINDOW = 2 ** 18;
export const BULK_WINDOW = 4 * 2 ** 20;
/** Unsent bytes of all sessions above which a session waits with its body. */
const BACKLOG = 2 ** 20;
/** Pieces below this size that wait to be read are joined, up to the other size. */
const SMALL_PIECE = 4_096;
const MAX_JOINED = 2 ** 16;
const LEFT: Refusal = { code: "Gone", message: "The other side left.", hint: "" };

export interface Piece {
  channel: number;
  data: Bytes;
}

/** Pieces of one channel that arrived, and the credit that they use. */
interface Arrived {
  channel: number;
  parts: Bytes[];
  size: number;
  credit: number;
}

/** One request and its answer, with bodies both ways. Made by `Peer.open`. */
export class Session {
  #inbox: Arrived[] = [];
  #answer: Answer | null = null;
  #error: Error | null = null;
  #isEnded = false;
  #changed = new Signal();

  constructor(
    readonly peer: Peer,
    readonly number: number,
  ) {}

  /** Waits for the host's answer. Throws HostRefused, HostUnreachable, HostMisbehaved. */
  async answer(): Promise<Answer> {
    while (this.#answer === null) {
      this.#check();
      await this.#changed.wait();
    }
    return this.#answer;
  }

  /** Returns the next bytes and their channel; null at the end. Throws as `answer`. */
  async read(): Promise<Piece | null> {
    for (;;) {
      const arrived = this.#inbox.shift();
      if (arrived !== undefined) {
        this.peer.mux.consumed(this.number, arrived.credit);
        this.peer.wake();
        return pieceOf(arrived);
      }
      if (this.#isEnded) return null;
      this.#check();
      await this.#changed.wait();
    }
  }

  /** Returns the next bytes of the body; null at the end. Other channels are skipped. */
  async readMain(): Promise<Bytes | null> {
    for (;;) {
      const piece = await this.read();
      if (piece === null) return null;
      if (piece.channel === MAIN && piece.data.length > 0) return piece.data;
    }
  }

  /** Returns the pieces that arrived and were not read, and removes them. */
  left(): Piece[] {
    const found = this.#inbox.map(pieceOf);
    this.#inbox = [];
    return found;
  }

  /** Sends all of `data`, as fast as the other side reads. Throws as `answer`. */
  async write(data: Uint8Array, channel = MAIN): Promise<void> {
    let rest = data;
    while (rest.length > 0) {
      this.#check();
      const room = this.peer.mux.room(this.number);
      if (room === 0) {
        await this.#changed.wait();
      } else if (this.peer.mux.pending > BACKLOG) {
        await this.peer.drained();
      } else {
        this.peer.mux.data(this.number, channel, rest.subarray(0, room));
        this.peer.wake();
        rest = rest.subarray(room);
      }
    }
  }

  /** Ends this side's body. */
  end(): void {
    ignoringLocal(() => this.peer.mux.end(this.number));
    if (!this.peer.mux.isOpen(this.number)) this.peer.forget(this.number);
    this.peer.wake();
  }

  /** Ends the session both ways. Does nothing where it is over. */
  drop(refusal: Refusal = LEFT): void {
    ignoringLocal(() => this.peer.mux.reset(this.number, refusal));
    this.peer.forget(this.number);
    this.fail(new HostRefused(refusal));
    this.peer.wake();
  }

  /** Notes that the session is over. Called by `Peer`. */
  fail(error: Error): void {
    this.#error ??= error;
    this.#changed.fire();
  }

  /** Processes an event of this session. Called by `Peer`. */
  take(event: MuxEvent): void {
    if (event.kind === "accepted") this.#answer = event.answer;
    else if (event.kind === "received") this.#add(event.channel, event.data);
    else if (event.kind === "ended") this.#isEnded = true;
    else if (event.kind === "refused" || event.kind === "reset") this.fail(new HostRefused(event.refusal));
    this.#changed.fire();
  }

  /** Stores bytes to be read. Small pieces are joined: a host may send each byte in a frame of its own. */
  #add(channel: number, data: Bytes): void {
    const last = this.#inbox.at(-1);
    const isJoined = last !== undefined && last.channel === channel && channel !== CONTROL;
    if (isJoined && data.length < SMALL_PIECE && last.size + data.length <= MAX_JOINED) {
      last.parts.push(data);
      last.size += data.length;
      last.credit += data.length + 1;
      return;
    }
    this.#inbox.push({ channel, parts: [data], size: data.length, credit: data.length + 1 });
  }

  #check(): void {
    if (this.#error !== null) throw this.#error;
  }
}

function pieceOf(arrived: Arrived): Piece {
  return { channel: arrived.channel, data: concat(...arrived.parts) };
}

/** A session as a stream of bytes: what a gateway relays. */
export function sessionStream(session: Session): ByteStream {
  const lost = (error: unknown): ConnectionLost => {
    if (error instanceof HostUnreachable) return new ConnectionLost(error.reason);
    return new ConnectionLost(error instanceof Error ? error.message : String(error));
  };
  return {
    read: async () => {
      const data = await session.readMain().catch((error: unknown) => {
        throw lost(error);
      });
      if (data === null) throw new ConnectionLost("the other side ended the stream");
      return data;
    },
    write: (data) =>
      session.write(data).catch((error: unknown) => {
        throw lost(error);
      }),
    close: () => session.drop(),
  };
}

/** A connection with its reader and writer, to be closed with `close`. */
export class Peer {
  readonly mux = new Mux();
  #sessions = new Map<number, Session>();
  #error: Error | null = null;
  #isWriting = false;
  #changed = new Signal();

  constructor(readonly stream: ByteStream) {
    void this.#read();
    this.wake();
  }

  get isOver(): boolean {
    return this.#error !== null;
  }

  /** Waits for the HELLO of the other side. Throws HostUnreachable, HostRefused, HostMisbehaved. */
  async ready(): Promise<void> {
    while (this.mux.version === null) {
      if (this.#error !== null) throw this.#error;
      await this.#changed.wait();
    }
  }

  /** Sends a request. Throws HostUnreachable where the connection is closed, HostRefused where too much is open. */
  open(request: Bytes, window: number): Session {
    if (this.#error !== null) throw this.#error;
    try {
      const session = new Session(this, this.mux.open(request, window));
      this.#sessions.set(session.number, session);
      this.wake();
      return session;
    } catch (error) {
      if (!(error instanceof LocalProtocolError)) throw error;
      throw new HostRefused({ code: "Busy", message: `${error.message}.`, hint: "End one of them first." });
    }
  }

  /** Closes the connection. */
  close(): void {
    this.#fail(new HostUnreachable("The connection was closed."));
  }

  /** Has the writer send pending bytes. */
  wake(): void {
    if (this.#isWriting || this.#error !== null) return;
    this.#isWriting = true;
    void this.#write();
  }

  /** Removes a session: it receives no more events. */
  forget(number: number): void {
    this.#sessions.delete(number);
  }

  /** Waits until few bytes are pending. */
  async drained(): Promise<void> {
    while (this.mux.pending > BACKLOG && this.#error === null) await this.#changed.wait();
  }

  async #write(): Promise<void> {
    try {
      // The bytes that all sessions have written meanwhile are sent together.
      await Promise.resolve();
      while (this.mux.pending > 0 && this.#error === null) {
        await this.stream.write(this.mux.take());
        this.#changed.fire();
      }
    } catch (error) {
      this.#fail(asPeerError(error));
    } finally {
      this.#isWriting = false;
    }
  }

  async #read(): Promise<void> {
    try {
      while (this.#error === null) {
        for (const event of this.mux.receive(await this.stream.read())) this.#take(event);
        this.wake();
      }
    } catch (error) {
      this.#fail(asPeerError(error));
    }
  }

  #take(event: MuxEvent): void {
    if (event.kind === "ready") this.#changed.fire();
    else if (event.kind === "gone") this.#fail(new HostRefused(event.refusal));
    else {
      this.#sessions.get(event.session)?.take(event);
      // Earlier events of the same bytes find the multiplexer in the state after the last of them.
      const isLast = event.kind === "ended" || event.kind === "refused" || event.kind === "reset";
      if (isLast && !this.mux.isOpen(event.session)) this.forget(event.session);
    }
  }

  #fail(error: Error): void {
    if (this.#error === null) {
      this.#error = error;
      for (const session of this.#sessions.values()) session.fail(error);
      this.#sessions.clear();
      this.stream.close();
    }
    this.#changed.fire();
  }
}

/** Returns the whole body of a session of at most `most` bytes. Throws HostMisbehaved for more. */
export async function wholeBody(
  session: Session,
  most: number,
  progress: (bytes: number) => void = () => undefined,
): Promise<Bytes> {
  const pieces: Bytes[] = [];
  let size = 0;
  for (;;) {
    const piece = await session.readMain();
    if (piece === null) return concat(...pieces);
    pieces.push(piece);
    size += piece.length;
    if (size > most) {
      session.drop();
      throw new HostMisbehaved(`The host sent more than the ${most} bytes allowed.`);
    }
    progress(size);
  }
}

function asPeerError(error: unknown): Error {
  if (error instanceof ConnectionLost) return unreachable(error);
  if (error instanceof WireError) return new HostMisbehaved(`The other side broke the protocol: ${error.message}.`);
  return error instanceof Error ? error : new Error(String(error));
}

function ignoringLocal(act: () => void): void {
  try {
    act();
  } catch (error) {
    if (!(error instanceof LocalProtocolError)) throw error;
  }
}
