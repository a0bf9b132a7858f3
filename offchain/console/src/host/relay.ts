/**
 * The way of a page to a gateway: a WebSocket of the API that served the page, on which both sides prove their keys
 * (offchain/gateway/api/relay_socket.py). What passes through it to a host is encrypted for the host.
 */

import { type Bytes, concat, utf8 } from "../lib/bytes.ts";
import { ConnectionLost, HostUnreachable } from "./errors.ts";
import { isSigned, randomBytes } from "./keys.ts";
import type { SessionKey } from "./session_key.ts";
import { type ByteStream, exactly, Signal, within } from "./stream.ts";

const CLIENT_CONTEXT = utf8("gantry/relay-client/v1");
const SERVER_CONTEXT = utf8("gantry/relay-server/v1");
const CARRIED_CONTEXT = utf8("gantry/carried-client/v1");
const NONCE_BYTES = 32;
const SIGNATURE_BYTES = 64;
const MESSAGE_BYTES = 2 ** 16;
/** Unread bytes at which the other side sends more than it was granted credit for. */
const MAX_UNREAD = 16 * 2 ** 20;
const DIAL_MS = 10_000;

/** Returns what a client signs: the server's random number, for the server with this key. */
export function clientProof(nonce: Bytes, serverKey: Bytes): Bytes {
  return concat(CLIENT_CONTEXT, nonce, serverKey);
}

/** Returns what a server signs: the client's random number, for the client with this key. */
export function serverProof(nonce: Bytes, clientKey: Bytes): Bytes {
  return concat(SERVER_CONTEXT, nonce, clientKey);
}

/** Returns what a caller signs inside of the encrypted connection to a host. */
export function carriedProof(nonce: Bytes, hostKey: Bytes): Bytes {
  return concat(CARRIED_CONTEXT, nonce, hostKey);
}

/** A WebSocket as a stream of bytes. */
class SocketStream implements ByteStream {
  #pieces: Bytes[] = [];
  #unread = 0;
  #end: string | null = null;
  #changed = new Signal();

  constructor(readonly socket: WebSocket) {
    socket.binaryType = "arraybuffer";
    socket.onopen = () => this.#changed.fire();
    socket.onmessage = (event: MessageEvent<unknown>) => {
      if (event.data instanceof ArrayBuffer) this.#add(new Uint8Array(event.data));
      else this.#over("the gateway sent text");
    };
    socket.onclose = () => this.#over("the gateway ended the connection");
    socket.onerror = () => this.#over("the gateway cannot be reached");
  }

  async opened(): Promise<void> {
    while (this.socket.readyState === WebSocket.CONNECTING && this.#end === null) await this.#changed.wait();
    if (this.#end !== null) throw new ConnectionLost(this.#end);
  }

  async read(): Promise<Bytes> {
    for (;;) {
      const piece = this.#pieces.shift();
      if (piece !== undefined) {
        this.#unread -= piece.length;
        return piece;
      }
      if (this.#end !== null) throw new ConnectionLost(this.#end);
      await this.#changed.wait();
    }
  }

  async write(data: Bytes): Promise<void> {
    if (this.#end !== null) throw new ConnectionLost(this.#end);
    for (let at = 0; at < data.length; at += MESSAGE_BYTES) this.socket.send(data.slice(at, at + MESSAGE_BYTES));
  }

  close(): void {
    this.#over("the connection was closed");
  }

  #add(piece: Bytes): void {
    if (piece.length === 0 || this.#end !== null) return;
    this.#pieces.push(piece);
    this.#unread += piece.length;
    if (this.#unread > MAX_UNREAD) this.#over("the gateway sends more than was asked for");
    this.#changed.fire();
  }

  #over(reason: string): void {
    this.#end ??= reason;
    this.socket.close();
    this.#changed.fire();
  }
}

/** Connects to the gateway with this key. Throws HostUnreachable. */
export async function dialGateway(gatewayKey: Bytes, key: SessionKey): Promise<ByteStream> {
  const url = new URL("/v1/relay", location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  const stream = new SocketStream(new WebSocket(url));
  try {
    await within(DIAL_MS, proven(stream, gatewayKey, key), "The gateway did not answer within 10 s.");
    return stream;
  } catch (error) {
    stream.close();
    if (!(error instanceof ConnectionLost)) throw error;
    throw new HostUnreachable(`The relay of this gateway cannot be used (${error.message}).`);
  }
}

async function proven(stream: SocketStream, gatewayKey: Bytes, key: SessionKey): Promise<void> {
  await stream.opened();
  const nonce = await exactly(stream, NONCE_BYTES);
  const challenge = randomBytes(NONCE_BYTES);
  await stream.write(concat(key.publicKey, await key.sign(clientProof(nonce, gatewayKey)), challenge));
  const signature = await exactly(stream, SIGNATURE_BYTES);
  if (!(await isSigned(gatewayKey, serverProof(challenge, key.publicKey), signature))) {
    throw new ConnectionLost("the gateway at this address has another key than it names");
  }
}

/** Proves the key of the page to the host, inside of the encrypted connection. Throws HostUnreachable. */
export async function proveToHost(stream: ByteStream, hostKey: Bytes, key: SessionKey): Promise<void> {
  try {
    const nonce = await exactly(stream, NONCE_BYTES);
    await stream.write(concat(key.publicKey, await key.sign(carriedProof(nonce, hostKey))));
  } catch (error) {
    stream.close();
    if (!(error instanceof ConnectionLost)) throw error;
    throw new HostUnreachable(`The host ended the connection (${error.message}).`);
  }
}
