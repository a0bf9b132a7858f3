/** Sessions of a connection, with a host that the test plays frame by frame. */

import { expect, it } from "vitest";
import { HostMisbehaved, HostRefused, HostUnreachable } from "../src/host/errors.ts";
import { encodeFrame, type Frame, type FrameName, FrameReader } from "../src/host/frames.ts";
import { canonicalJson, type Json } from "../src/host/messages.ts";
import { CONTROL, MAIN } from "../src/host/mux.ts";
import { Peer, sessionStream, wholeBody } from "../src/host/peer.ts";
import { type ByteStream, Signal, within } from "../src/host/stream.ts";
import { ConnectionLost } from "../src/host/errors.ts";
import { bigEndian, type Bytes, concat, numberAt, utf8 } from "../src/lib/bytes.ts";

/** The host's end of a connection. */
class PlayedHost implements ByteStream {
  #said: Bytes[] = [];
  #heard: Frame[] = [];
  #reader = new FrameReader();
  #changed = new Signal();
  isClosed = false;

  say(kind: FrameName, session: number, payload: Bytes = new Uint8Array(0)): this {
    this.#said.push(encodeFrame(kind, session, payload));
    this.#changed.fire();
    return this;
  }

  raw(data: Bytes): void {
    this.#said.push(data);
    this.#changed.fire();
  }

  json(kind: FrameName, session: number, value: Json): this {
    return this.say(kind, session, utf8(canonicalJson(value)));
  }

  hello(): this {
    return this.json("HELLO", 0, { protocol: "gantry/host", oldest: 2, newest: 2 });
  }

  data(session: number, channel: number, content: Bytes): this {
    return this.say("DATA", session, concat(bigEndian(channel, 1), content));
  }

  /** Returns the next frame of this kind that the page has sent. */
  async hear(kind: FrameName): Promise<Frame> {
    for (;;) {
      const at = this.#heard.findIndex((frame) => frame.kind === kind);
      if (at >= 0) return this.#heard.splice(at, 1)[0]!;
      await this.#changed.wait();
    }
  }

  async read(): Promise<Bytes> {
    for (;;) {
      const data = this.#said.shift();
      if (data !== undefined) return data;
      if (this.isClosed) throw new ConnectionLost("closed");
      await this.#changed.wait();
    }
  }

  async write(data: Bytes): Promise<void> {
    this.#heard.push(...this.#reader.feed(data));
    this.#changed.fire();
  }

  close(): void {
    this.isClosed = true;
    this.#changed.fire();
  }
}

async function opened(window = 100) {
  const host = new PlayedHost().hello();
  const peer = new Peer(host);
  await peer.ready();
  const session = peer.open(utf8("request"), window);
  host.json("ACCEPT", 1, {});
  await session.answer();
  return { host, peer, session };
}

it("joins small pieces, and grants what was read again", async () => {
  const { host, session } = await opened();
  await host.hear("CREDIT");
  host
    .data(1, MAIN, utf8("a".repeat(30)))
    .data(1, MAIN, utf8("b".repeat(30)))
    .data(1, CONTROL, utf8("{}"));
  host.data(1, MAIN, utf8("c")).say("END", 1);
  await host.hear("OPEN");
  await new Promise((resolve) => setTimeout(resolve));
  const pieces = [];
  for (let piece = await session.read(); piece !== null; piece = await session.read()) {
    pieces.push([piece.channel, new TextDecoder().decode(piece.data)]);
  }
  expect(pieces).toEqual([
    [MAIN, "a".repeat(30) + "b".repeat(30)],
    [CONTROL, "{}"],
    [MAIN, "c"],
  ]);
});

it("gives all of a body whose end comes with it", async () => {
  const { host, session } = await opened();
  session.end();
  const data = encodeFrame("DATA", 1, bigEndian(MAIN, 1), utf8("all"));
  host.raw(concat(data, encodeFrame("END", 1)));
  expect(await session.readMain()).toEqual(utf8("all"));
  expect(await session.readMain()).toBe(null);
});

it("gives credit back at half of the window", async () => {
  const { host, session } = await opened(100);
  expect(numberAt((await host.hear("CREDIT")).payload, 0, 4)).toBe(100);
  host.data(1, MAIN, utf8("x".repeat(59)));
  await session.read();
  expect(numberAt((await host.hear("CREDIT")).payload, 0, 4)).toBe(60);
});

it("sends no more than the host has granted", async () => {
  const { host, session } = await opened();
  const writing = session.write(utf8("0123456789"));
  host.say("CREDIT", 1, bigEndian(5, 4));
  expect(new TextDecoder().decode((await host.hear("DATA")).payload)).toBe("\x000123");
  host.say("CREDIT", 1, bigEndian(100, 4));
  expect(new TextDecoder().decode((await host.hear("DATA")).payload)).toBe("\x00456789");
  await writing;
});

it("refuses as the host does, and ends with what breaks the rules", async () => {
  const { host, peer, session } = await opened();
  const other = peer.open(utf8("another"), 1);
  host.json("REFUSE", 2, { code: "NotReady", message: "Not yet.", remedy: "Wait." });
  await expect(other.answer()).rejects.toThrow(HostRefused);
  host.raw(concat(bigEndian(2 ** 31, 4), Uint8Array.of(5), bigEndian(1, 4)));
  await expect(session.read()).rejects.toThrow(HostMisbehaved);
  expect([peer.isOver, host.isClosed]).toEqual([true, true]);
  expect(() => peer.open(utf8("x"), 1)).toThrow(HostMisbehaved);
});

it("tells every session that the connection is gone", async () => {
  const { host, peer, session } = await opened();
  const stream = sessionStream(peer.open(utf8("relayed"), 9));
  host.close();
  await expect(session.read()).rejects.toThrow(HostUnreachable);
  await expect(stream.read()).rejects.toThrow(/^closed$/);
});

it("takes a farewell as a refusal", async () => {
  const { host, session } = await opened();
  host.json("GOAWAY", 0, { code: "Gone", message: "The host is being restarted.", remedy: "Wait." });
  await expect(session.read()).rejects.toThrow("The host is being restarted.");
});

it("bounds a body, and the time for an answer", async () => {
  const { host, session } = await opened();
  host.data(1, MAIN, utf8("x".repeat(50)));
  await expect(wholeBody(session, 49)).rejects.toThrow("more than the 49 bytes");
  expect((await host.hear("RESET")).session).toBe(1);
  await expect(within(1, new Promise(() => undefined), "too late")).rejects.toThrow("too late");
});
