/** Requests of a page to one host or gateway, over one connection that is opened when it is needed. */

import { type Bytes, digitsOf } from "../lib/bytes.ts";
import { HostMisbehaved, HostRefused, HostUnreachable } from "./errors.ts";
import { randomBytes, sha256 } from "./keys.ts";
import { type Answer, encodeRequest, type Json, type Request, requestPayload } from "./messages.ts";
import { BULK_WINDOW, Peer, type Session, wholeBody, WINDOW } from "./peer.ts";
import { RemoteProgram } from "./remote_program.ts";
import type { SessionKey } from "./session_key.ts";
import { type ByteStream, within } from "./stream.ts";

const REQUEST_LIFE_MS = 30_000;
const HELLO_MS = 10_000;
const REPLY_MS = 30_000;
const NONCE_BYTES = 16;
export const MAX_RESULT = 64 * 2 ** 20;

export interface Asked {
  session: Session;
  answer: Answer;
}

export class HostClient {
  #peer: Peer | null = null;
  #connecting: Promise<Peer> | null = null;
  #isClosed = false;

  /** `dial` opens a way to the host with `hostKey` that proves the host's key. */
  constructor(
    readonly hostKey: Bytes,
    readonly genesisHash: Bytes,
    readonly key: SessionKey,
    readonly dial: () => Promise<ByteStream>,
  ) {}

  /** Sends a request, and waits for its answer. A connection that broke unnoticed is opened again, once. */
  async ask(op: Request["op"], args: Request["args"], lease: bigint | null, window = WINDOW): Promise<Asked> {
    const wasOpen = this.#peer !== null && !this.#peer.isOver;
    try {
      return await this.#ask(op, args, lease, window);
    } catch (error) {
      const isBroken =
        error instanceof HostUnreachable || (error instanceof HostRefused && this.#peer?.isOver === true);
      if (!wasOpen || !isBroken || this.#isClosed) throw error;
    }
    return this.#ask(op, args, lease, window);
  }

  /** Has a gateway open a stream to the host with this key. */
  async carry(hostKey: Bytes): Promise<Session> {
    return (await this.ask("carry", { host: digitsOf(hostKey) }, null, BULK_WINDOW)).session;
  }

  /** Opens the log of a pod; `tail`: number of last lines, null: all. */
  async logs(lease: bigint, follow: boolean, tail: number | null): Promise<Session> {
    const { session } = await this.ask("logs", { follow, tail, since_ms: null }, lease);
    session.end();
    return session;
  }

  /** Returns the result of a lease. `digest`: its SHA-256 on the chain; other bytes throw HostMisbehaved. */
  async result(lease: bigint, digest: Bytes, progress: (bytes: number) => void): Promise<Bytes> {
    const { session } = await this.ask("result", {}, lease, BULK_WINDOW);
    session.end();
    const body = await wholeBody(session, MAX_RESULT, progress);
    const got = digitsOf(await sha256(body));
    if (got !== digitsOf(digest)) {
      throw new HostMisbehaved(
        `The host sent ${body.length} bytes with SHA-256 ${got}, but the chain says ${digitsOf(digest)}. ` +
          "They were not saved; the result on the chain is what the host is paid for.",
      );
    }
    return body;
  }

  /** Starts a program with a terminal in a pod. */
  async exec(lease: bigint, argv: readonly string[], rows: number, columns: number): Promise<RemoteProgram> {
    const args: Record<string, Json> = { argv, tty: true, service: null, rows, columns };
    const { session, answer } = await this.ask("exec", args, lease);
    if (answer.token === null) {
      session.drop();
      throw new HostMisbehaved("The host did not name the program that it started.");
    }
    return new RemoteProgram(this, lease, session, answer.token);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Closes the connection for good. */
  close(): void {
    this.#isClosed = true;
    this.#peer?.close();
  }

  async #ask(op: Request["op"], args: Request["args"], lease: bigint | null, window: number): Promise<Asked> {
    const peer = await this.#connected();
    const session = peer.open(await this.#signed(op, args, lease), window);
    try {
      const answer = await within(REPLY_MS, session.answer(), "The host did not answer within 30 s.");
      return { session, answer };
    } catch (error) {
      session.drop();
      throw error;
    }
  }

  async #connected(): Promise<Peer> {
    if (this.#isClosed) throw new HostUnreachable("The connection was closed.");
    if (this.#peer !== null && !this.#peer.isOver) return this.#peer;
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = null;
    });
    return this.#connecting;
  }

  async #connect(): Promise<Peer> {
    const peer = new Peer(await this.dial());
    try {
      await within(HELLO_MS, peer.ready(), "The host said nothing within 10 s.");
      if (this.#isClosed) throw new HostUnreachable("The connection was closed.");
    } catch (error) {
      peer.close();
      throw error;
    }
    this.#peer = peer;
    return peer;
  }

  async #signed(op: Request["op"], args: Request["args"], lease: bigint | null): Promise<Bytes> {
    const request: Request = {
      op,
      args,
      lease,
      account: this.key.address,
      nonce: digitsOf(randomBytes(NONCE_BYTES)),
      expiresMs: Date.now() + REQUEST_LIFE_MS,
      delegation: this.key.delegation,
    };
    return encodeRequest(request, await this.key.sign(requestPayload(request, this.genesisHash, this.hostKey)));
  }
}
