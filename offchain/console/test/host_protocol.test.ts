/** The protocol to hosts, against the vectors that the Python implementation writes and tests, too. */

import { describe, expect, it } from "vitest";
import { isCertificateOf } from "../src/host/certificate.ts";
import { DELEGABLE, delegationText } from "../src/host/delegation.ts";
import { HostRefused, WireError } from "../src/host/errors.ts";
import { encodeFrame, type FrameName, FrameReader } from "../src/host/frames.ts";
import { isSigned } from "../src/host/keys.ts";
import {
  canonicalJson,
  decodeControl,
  decodeRefusal,
  encodeRefusal,
  encodeRequest,
  type Json,
  type Request,
  requestPayload,
} from "../src/host/messages.ts";
import { Mux, type MuxEvent } from "../src/host/mux.ts";
import { carriedProof, clientProof, serverProof } from "../src/host/relay.ts";
import { TABLE } from "../src/host/session_states.ts";
import { bytesOf, type Bytes, concat, digitsOf, utf8 } from "../src/lib/bytes.ts";
import { escapedLine, StreamEscaper } from "../src/lib/terminal_escaping.ts";
import vectors from "../../../tests/vectors/page_protocol.json";

const genesis = bytesOf(vectors.genesis_hash);

describe("requests", () => {
  it.each(vectors.requests)("$op of lease $lease is signed and written as hosts expect it", async (one) => {
    const request: Request = {
      op: one.op as Request["op"],
      args: one.args as unknown as Record<string, Json>,
      lease: one.lease === null ? null : BigInt(one.lease),
      account: vectors.session_address,
      nonce: "0a".repeat(16),
      expiresMs: vectors.now_ms + 30_000,
      delegation: vectors.delegation,
    };
    const payload = requestPayload(request, genesis, bytesOf(one.to));
    expect(digitsOf(payload)).toBe(one.payload);
    expect(await isSigned(bytesOf(vectors.session_key), payload, bytesOf(one.signature))).toBe(true);
    expect(new TextDecoder().decode(encodeRequest(request, bytesOf(one.signature)))).toBe(one.encoded);
  });

  it.each(vectors.canonical_json)("have one form: $text", ({ value, text }) => {
    expect(canonicalJson(value as unknown as Json)).toBe(text);
  });

  it("carry the text of a delegation as hosts parse it", () => {
    const text = delegationText({
      domain: "console.example.org:8443",
      account: vectors.account,
      key: vectors.session_address,
      may: DELEGABLE,
      chain: vectors.genesis_hash.slice(0, 32),
      nonce: "0f".repeat(16),
      issuedMs: vectors.now_ms - 1,
      expiresMs: vectors.now_ms + 3_600_000,
    });
    expect(text).toBe(vectors.delegation.text);
  });
});

describe("proofs of keys", () => {
  const { proofs } = vectors;
  const nonce = bytesOf(proofs.nonce);
  const [gatewayKey, sessionKey, hostKey] = [vectors.gateway_key, vectors.session_key, vectors.host_key].map(bytesOf);

  it("are those of gateways and hosts", async () => {
    expect(digitsOf(clientProof(nonce, gatewayKey!))).toBe(proofs.client);
    expect(digitsOf(serverProof(nonce, sessionKey!))).toBe(proofs.server);
    expect(digitsOf(carriedProof(nonce, hostKey!))).toBe(proofs.carried);
    expect(await isSigned(gatewayKey!, bytesOf(proofs.server), bytesOf(proofs.server_signature))).toBe(true);
    expect(await isSigned(sessionKey!, bytesOf(proofs.server), bytesOf(proofs.server_signature))).toBe(false);
  });

  it("include a certificate that is the host's only", async () => {
    const certificate = bytesOf(vectors.certificate);
    expect(await isCertificateOf(hostKey!, certificate)).toBe(true);
    expect(await isCertificateOf(gatewayKey!, certificate)).toBe(false);
    expect(await isCertificateOf(hostKey!, concat(certificate, new Uint8Array(1)))).toBe(false);
    expect(await isCertificateOf(hostKey!, new Uint8Array(0))).toBe(false);
    for (let at = 0; at < certificate.length; at += 1) {
      const changed = certificate.slice();
      changed[at] = changed[at]! ^ 1;
      expect(await isCertificateOf(hostKey!, changed)).toBe(false);
    }
  });
});

describe("frames", () => {
  const { frames } = vectors;

  it("are written and read as by hosts, however the bytes are cut", () => {
    const data = concat(...frames.valid.map((one) => bytesOf(one.bytes)));
    for (const size of [1, 7, data.length]) {
      const reader = new FrameReader();
      const found = [];
      for (let at = 0; at < data.length; at += size) found.push(...reader.feed(data.slice(at, at + size)));
      expect(found.map(({ kind, session, payload }) => ({ kind, session, payload: digitsOf(payload) }))).toEqual(
        frames.valid.map(({ kind, session, payload }) => ({ kind, session, payload })),
      );
      expect(reader.held).toBe(0);
    }
    for (const { kind, session, payload, bytes } of frames.valid) {
      expect(digitsOf(encodeFrame(kind as FrameName, session, bytesOf(payload)))).toBe(bytes);
    }
  });

  it.each(Object.entries(frames.too_long))("of kind %s that are too long are refused by their header", (_, head) => {
    expect(() => new FrameReader().feed(bytesOf(head))).toThrow(WireError);
  });

  it.each(Object.entries(frames.longest))("of kind %s have the same limit", (kind, longest) => {
    expect(encodeFrame(kind as FrameName, 0, new Uint8Array(longest))).toHaveLength(longest + 9);
    expect(() => encodeFrame(kind as FrameName, 0, new Uint8Array(longest + 1))).toThrow(WireError);
  });

  it.each(frames.unknown)("of an unknown kind are refused: %s", (head) => {
    expect(() => new FrameReader().feed(bytesOf(head))).toThrow("unknown kind");
  });
});

const EVENT_NAMES: Readonly<Record<MuxEvent["kind"], string>> = {
  ready: "Ready",
  accepted: "Accepted",
  refused: "Refused",
  received: "Received",
  ended: "Ended",
  granted: "Granted",
  reset: "WasReset",
  gone: "GoneAway",
};

describe("sessions", () => {
  it("have the states of hosts", () => {
    const { CLOSED, ...rows } = vectors.session_states as Record<string, unknown>;
    expect(CLOSED ?? {}).toEqual({});
    expect(TABLE).toEqual(rows);
  });

  it("say and understand the same in a conversation", () => {
    const mux = new Mux();
    for (const step of vectors.conversation) {
      const [first, second, third] = "given" in step ? (JSON.parse(step.given as string) as (number | string)[]) : [];
      const bytes = (value: number | string | undefined): Bytes => bytesOf(String(value));
      if (step.act === "hear" && "bytes" in step) {
        const events = mux.receive(bytesOf(step.bytes as string)).map((event) => EVENT_NAMES[event.kind]);
        expect(events.join(" ")).toBe(step.events);
      } else if (step.act === "open") mux.open(bytes(first), Number(second));
      else if (step.act === "data") mux.data(Number(first), Number(second), bytes(third));
      else if (step.act === "consumed") mux.consumed(Number(first), Number(second));
      else if (step.act === "end") mux.end(Number(first));
      else if (step.act === "reset") {
        const { code, message, hint } = vectors.refusal;
        mux.reset(Number(first), { code, message, hint });
      }
      expect(digitsOf(mux.take()), step.act).toBe(step.sends);
    }
  });

  it.each(Object.entries(vectors.violations))("end with a host that breaks the rules: %s", (_, pieces) => {
    const mux = new Mux();
    mux.open(utf8("request"), 10);
    const last = pieces.length - 1;
    pieces.slice(0, last).forEach((piece) => mux.receive(bytesOf(piece)));
    expect(() => mux.receive(bytesOf(pieces[last]!))).toThrow(WireError);
  });
});

describe("what hosts say", () => {
  it("is a refusal, whose text is escaped before a person sees it", () => {
    const { encoded, code, message, hint } = vectors.refusal;
    const refusal = decodeRefusal(utf8(encoded));
    expect(refusal).toEqual({ code, message, hint });
    expect(new TextDecoder().decode(encodeRefusal(refusal))).toBe(encoded);
    expect(new HostRefused(refusal).message).toBe("The program wrote \\x1b[2Jö.");
  });

  it.each(vectors.controls.valid)("is a control message: %s", (text) => {
    const found = decodeControl(utf8(text));
    const { exitCode, digest, ...rest } = found;
    const fields = { ...rest, exit_code: exitCode, digest: digest === null ? null : digitsOf(digest) };
    const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== false));
    expect(given).toEqual(JSON.parse(text));
  });

  it.each(vectors.controls.invalid)("is refused where it is malformed: %s", (text) => {
    expect(() => decodeControl(utf8(text))).toThrow(WireError);
  });

  it.each(vectors.escaping)("is shown as $shown", ({ pieces, shown }) => {
    const escaper = new StreamEscaper();
    expect(pieces.map((piece) => escaper.feed(bytesOf(piece))).join("") + escaper.end()).toBe(shown);
  });

  it("is one line where it is a name", () => {
    expect(escapedLine(vectors.escaped_line.text)).toBe(vectors.escaped_line.shown);
  });
});
