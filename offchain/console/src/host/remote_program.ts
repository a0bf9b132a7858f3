/**
 * A program in a pod with a terminal. It survives a broken connection: the host keeps it and its last output for a
 * minute, this side keeps its last input, and both count bytes (offchain/adapters/transport/remote_program.py).
 */

import { type Bytes, concat } from "../lib/bytes.ts";
import { HostMisbehaved, HostRefused, HostUnreachable, type Refusal, WireError } from "./errors.ts";
import type { HostClient } from "./host_client.ts";
import { bounded, decodeControl, encodeResize } from "./messages.ts";
import { CONTROL, MAIN } from "./mux.ts";
import type { Piece, Session } from "./peer.ts";

/** More than the host grants at once, so that all input that may be lost is still here. */
const KEEP_INPUT = 2 ** 20;
const RESUME_MS = 50_000;
const RETRY_MS = 1_000;
const ENDED: Refusal = { code: "Gone", message: "The tenant ended the program.", hint: "" };

export class RemoteProgram {
  /** Called with the reason when the connection broke and a new one is tried, and with null when there is one. */
  onBreak: (reason: string | null) => void = () => undefined;
  /** As in a shell; null while the program runs. */
  exitCode: number | null = null;
  #received = 0;
  /** Output of earlier connections that was not read yet. */
  #left: Piece[] = [];
  /** The last input, which ends at the offset `#sentTo`. */
  #sent: Bytes = new Uint8Array(0);
  #sentTo = 0;
  #size: readonly [number, number] | null = null;
  #resuming: Promise<void> | null = null;
  #isKilled = false;

  constructor(
    readonly client: HostClient,
    readonly lease: bigint,
    public session: Session,
    readonly token: string,
  ) {}

  /** Returns the next output; null when the program has ended. Throws HostRefused, HostUnreachable, HostMisbehaved. */
  async read(): Promise<Bytes | null> {
    while (this.exitCode === null) {
      const { channel, data } = this.#left.shift() ?? (await this.#next());
      if (channel === MAIN) return data;
      if (channel !== CONTROL) throw new HostMisbehaved("The host sent output of a program without a terminal.");
      try {
        this.exitCode = decodeControl(data).exitCode;
      } catch (error) {
        if (!(error instanceof WireError)) throw error;
        throw new HostMisbehaved(`The host's word is malformed: ${error.message}.`);
      }
    }
    this.session.drop();
    return null;
  }

  /** Sends input to the program. */
  async write(data: Bytes): Promise<void> {
    for (let at = 0; at < data.length; at += KEEP_INPUT / 4) {
      const piece = data.slice(at, at + KEEP_INPUT / 4);
      this.#sent = concat(this.#sent, piece).slice(-KEEP_INPUT);
      this.#sentTo += piece.length;
      await this.#try((session) => session.write(piece));
    }
  }

  /** Sets the size of the terminal. */
  async resize(rows: number, columns: number): Promise<void> {
    this.#size = [bounded(rows), bounded(columns)];
    const word = encodeResize(...this.#size);
    await this.#try((session) => session.write(word, CONTROL));
  }

  /** Ends the program. */
  kill(): void {
    this.#isKilled = true;
    this.session.drop(ENDED);
  }

  async #next(): Promise<Piece> {
    for (;;) {
      const session = this.session;
      let piece: Piece | null;
      try {
        piece = await session.read();
      } catch (error) {
        if (!(error instanceof HostUnreachable)) throw error;
        await this.#resumed(session, error);
        const left = this.#left.shift();
        if (left !== undefined) return left;
        continue;
      }
      if (piece === null) throw new HostMisbehaved("The host did not say how the program ended.");
      this.#count(piece);
      return piece;
    }
  }

  #count(piece: Piece): void {
    if (piece.channel !== CONTROL) this.#received += piece.data.length;
  }

  async #try(work: (session: Session) => Promise<void>): Promise<void> {
    const session = this.session;
    try {
      await work(session);
    } catch (error) {
      if (!(error instanceof HostUnreachable)) throw error;
      await this.#resumed(session, error); // which sends lost input again
    }
  }

  /** Opens a new connection to the program, once for all who noticed that this one broke. */
  async #resumed(session: Session, broken: HostUnreachable): Promise<void> {
    if (this.session !== session) return;
    this.#resuming ??= this.#resume(session, broken).finally(() => {
      this.#resuming = null;
    });
    await this.#resuming;
  }

  async #resume(session: Session, broken: HostUnreachable): Promise<void> {
    this.onBreak(broken.message);
    // Output that the reader has not taken yet has arrived, and is not requested again.
    for (const piece of session.left()) {
      this.#count(piece);
      this.#left.push(piece);
    }
    const deadline = Date.now() + RESUME_MS;
    for (;;) {
      try {
        if (this.#isKilled) throw new HostRefused(ENDED);
        this.session = await this.#attach();
        this.onBreak(null);
        return;
      } catch (error) {
        const isPassing = error instanceof HostRefused && ["Busy", "Expired", "NotAttached"].includes(error.code);
        if (!isPassing && !(error instanceof HostUnreachable)) throw error;
        if (Date.now() > deadline || this.client.isClosed) throw error;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  async #attach(): Promise<Session> {
    const args = { token: this.token, received: this.#received };
    const { session, answer } = await this.client.ask("attach", args, this.lease);
    let held = answer.held ?? 0;
    if (held > this.#sentTo || this.#sentTo - held > this.#sent.length) {
      session.drop();
      throw new HostMisbehaved(`The host has ${held} bytes of input; ${this.#sentTo} were sent.`);
    }
    if (this.#size !== null) await session.write(encodeResize(...this.#size), CONTROL);
    // Input may be added while this is sent; nothing is awaited between the last comparison and the new session.
    while (held < this.#sentTo) {
      const lost = this.#sent.slice(held - this.#sentTo);
      held += lost.length;
      await session.write(lost);
    }
    return session;
  }
}
