/** TLS to a host, against a handshake of OpenSSL that was recorded with fixed keys of the client. */

import { beforeAll, describe, expect, it } from "vitest";
import { ConnectionLost, HostUnreachable } from "../src/host/errors.ts";
import { exactly, type ByteStream } from "../src/host/stream.ts";
import { type Beginning, secured } from "../src/host/tls_client.ts";
import { MAX_PLAINTEXT, recordHeader, RecordProtection, RecordType } from "../src/host/tls_keys.ts";
import { bytesOf, type Bytes, concat, digitsOf, utf8 } from "../src/lib/bytes.ts";
import vectors from "../../../tests/vectors/page_protocol.json";

const { tls } = vectors;
const hostKey = bytesOf(vectors.host_key);
const flight = bytesOf(tls.server_flight);
const secret = (name: keyof typeof tls.secrets): Bytes => bytesOf(tls.secrets[name]);

/** A stream from which the given pieces are read; what is written is kept. */
class Recorded implements ByteStream {
  written: Bytes[] = [];
  isClosed = false;
  constructor(readonly pieces: Bytes[]) {}
  async read(): Promise<Bytes> {
    const piece = this.pieces.shift();
    if (piece === undefined) throw new ConnectionLost("there is no more");
    return piece;
  }
  async write(data: Bytes): Promise<void> {
    this.written.push(data);
  }
  close(): void {
    this.isClosed = true;
  }
}

let beginning: Beginning;

beforeAll(async () => {
  const base64url = (digits: string): string =>
    btoa(String.fromCharCode(...bytesOf(digits)))
      .replace(/\+/g, "-")
      .replace(/\//g, "_")
      .replace(/=+$/, "");
  const open = { kty: "OKP", crv: "X25519", x: base64url(tls.client_share) };
  const publicKey = await crypto.subtle.importKey("jwk", open, "X25519", true, []);
  const whole = { ...open, d: base64url(tls.client_secret) };
  const privateKey = await crypto.subtle.importKey("jwk", whole, "X25519", false, ["deriveBits"]);
  beginning = { random: bytesOf(tls.client_random), pair: { publicKey, privateKey } };
});

async function connected(...more: Bytes[]) {
  const stream = new Recorded([flight, ...more]);
  return { stream, connection: await secured(stream, hostKey, beginning) };
}

describe("the handshake", () => {
  it("is that of OpenSSL, with its secrets", async () => {
    const { stream, connection } = await connected();
    const [hello, own] = stream.written;
    expect(digitsOf(hello!.slice(5))).toBe(tls.client_hello);
    // The host can read the last message, and the page what the host sends after it.
    const reader = await RecordProtection.of(secret("CLIENT_HANDSHAKE_TRAFFIC_SECRET"));
    const finished = await reader.open(own!.slice(0, 5), own!.slice(5));
    expect([finished.type, digitsOf(finished.data.slice(0, 4))]).toEqual([RecordType.HANDSHAKE, "14000020"]);
    const host = await RecordProtection.of(secret("SERVER_TRAFFIC_SECRET_0"));
    const ticket = await host.seal(RecordType.HANDSHAKE, bytesOf("04000000"));
    const empty = await host.seal(RecordType.APPLICATION, new Uint8Array(0));
    const nonce = await host.seal(RecordType.APPLICATION, utf8("a random number"));
    stream.pieces.push(ticket, concat(empty, nonce.slice(0, 9)), nonce.slice(9));
    expect(await connection.read()).toEqual(utf8("a random number"));
    await expect(connection.read()).rejects.toThrow("there is no more");
  });

  it("works however the bytes arrive", async () => {
    const single = Array.from(flight, (byte) => Uint8Array.of(byte));
    await secured(new Recorded(single), hostKey, beginning);
  });

  it("is refused with another key than the host's, before anything is sent to it", async () => {
    const stream = new Recorded([flight]);
    const other = bytesOf(vectors.gateway_key);
    await expect(secured(stream, other, beginning)).rejects.toThrow("does not have the host's key");
    expect(stream.written).toHaveLength(1);
    expect(stream.isClosed).toBe(true);
  });

  it("is refused if any byte of it was changed", async () => {
    for (let at = 0; at < flight.length; at += 1) {
      const changed = flight.slice();
      changed[at] = changed[at]! ^ 1;
      const stream = new Recorded([changed]);
      await expect(secured(stream, hostKey, beginning), `byte ${at}`).rejects.toThrow(HostUnreachable);
      expect(stream.written, `byte ${at}`).toHaveLength(1);
    }
  }, 60_000); // One handshake for each byte: seconds on a busy machine.

  it("is refused if it ends early, or begins with something else", async () => {
    for (const size of [0, 4, 5, 90, flight.length - 1]) {
      await expect(secured(new Recorded([flight.slice(0, size)]), hostKey, beginning)).rejects.toThrow(HostUnreachable);
    }
    for (const [begin, message] of [
      [concat(recordHeader(RecordType.ALERT, 2), Uint8Array.of(2, 40)), "TLS alert 40"],
      [concat(recordHeader(RecordType.APPLICATION, 2), Uint8Array.of(2, 40)), "no message of a handshake"],
      [recordHeader(RecordType.HANDSHAKE, 2 ** 15), "a record of 32768 bytes"],
      [utf8("HTTP/1.1 400 Bad Request"), "a record"],
    ] as const) {
      await expect(secured(new Recorded([begin]), hostKey, beginning)).rejects.toThrow(message);
    }
  });

  it("skips the record that old middleboxes want, and no other", async () => {
    const change = bytesOf("140303000101");
    await secured(new Recorded([change, flight]), hostKey, beginning);
    await expect(secured(new Recorded([bytesOf("140303000102"), flight]), hostKey, beginning)).rejects.toThrow();
  });

  it("begins anew each time", async () => {
    const hellos = await Promise.all(
      [1, 2].map(async () => {
        const stream = new Recorded([]);
        await expect(secured(stream, hostKey)).rejects.toThrow();
        return digitsOf(stream.written[0]!);
      }),
    );
    expect(hellos[0]).not.toBe(hellos[1]);
  });
});

describe("records after the handshake", () => {
  const host = () => RecordProtection.of(secret("SERVER_TRAFFIC_SECRET_0"));

  it("are refused if they are repeated, changed, swapped or not encrypted", async () => {
    const sender = await host();
    const [first, second] = [
      await sender.seal(RecordType.APPLICATION, utf8("first")),
      await sender.seal(RecordType.APPLICATION, utf8("second")),
    ];
    const changed = first.slice();
    changed[8] = changed[8]! ^ 1;
    for (const pieces of [[first, first], [changed], [second], [first.slice(1)], [recordHeader(22, 1), utf8("x")]]) {
      const { connection } = await connected(...pieces);
      await expect(connection.read().then(() => connection.read())).rejects.toThrow(ConnectionLost);
    }
  });

  it("end with the host's farewell, and with what was not asked for", async () => {
    for (const [type, data, message] of [
      [RecordType.ALERT, "0100", "ended the connection"],
      [RecordType.ALERT, "0214", "TLS alert 20"],
      [RecordType.HANDSHAKE, "1800000100", "was not asked for"],
      [99, "00", "was not asked for"],
    ] as const) {
      const { connection } = await connected(await (await host()).seal(type, bytesOf(data)));
      await expect(connection.read()).rejects.toThrow(message);
    }
  });

  it("are cut at their longest, and sent in the order in which they were written", async () => {
    const { stream, connection } = await connected();
    const long = new Uint8Array(MAX_PLAINTEXT + 1).fill(7);
    await Promise.all([connection.write(long), connection.write(utf8("then"))]);
    const sent = concat(...stream.written.slice(2));
    const lengths = [];
    for (let at = 0; at < sent.length; at += 5 + (sent[at + 3]! << 8) + sent[at + 4]!) {
      lengths.push((sent[at + 3]! << 8) + sent[at + 4]! - 17);
    }
    expect(lengths).toEqual([MAX_PLAINTEXT, 1, 4]);
  });
});

it("takes exactly the bytes of a proof", async () => {
  expect(await exactly(new Recorded([utf8("ab"), utf8("cd")]), 4)).toEqual(utf8("abcd"));
  await expect(exactly(new Recorded([utf8("ab"), utf8("cde")]), 4)).rejects.toThrow("does not speak this protocol");
});
