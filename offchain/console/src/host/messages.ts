/** Messages between a page and hosts: signed requests, answers, refusals (offchain/schema/protocol/messages.py). */

import { bytesOf, type Bytes, concat, digitsOf, utf8 } from "../lib/bytes.ts";
import { type Refusal, WireError } from "./errors.ts";

export type Json =
  string | number | bigint | boolean | null | readonly Json[] | { readonly [name: string]: Json | undefined };

export const MAX_REQUEST = 16_384;
export const MAX_ANSWER = 4_096;
export const MAX_CONTROL = 1_024;
const DELEGATED_VERSION = 3;
const REQUEST_CONTEXT = "gantry/request/v";

export interface SignedDelegation {
  text: string;
  /** 64 to 66 bytes in hex digits. */
  signature: string;
}

/** A request of a session key. `lease` is null for requests to a gateway. */
export interface Request {
  op: "logs" | "result" | "exec" | "attach" | "carry";
  args: Readonly<Record<string, Json>>;
  lease: bigint | null;
  account: string;
  /** 32 hex digits, never used twice. */
  nonce: string;
  expiresMs: number;
  delegation: SignedDelegation;
}

export interface Answer {
  size: number | null;
  /** Names a running program for reconnecting. */
  token: string | null;
  /** Bytes of a program's input that the host has. */
  held: number | null;
  digest: Bytes | null;
}

/** A control message beside the bytes of a session. */
export interface Control {
  resize: readonly [rows: number, columns: number] | null;
  exitCode: number | null;
  size: number | null;
  digest: Bytes | null;
  done: boolean;
}

/** Returns JSON with sorted keys and without white space, everything outside of ASCII escaped. */
export function canonicalJson(value: Json): string {
  if (typeof value === "bigint") return value.toString();
  if (value === null || typeof value !== "object") {
    const text = JSON.stringify(value);
    return text.replace(/[\x7f-\uffff]/g, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
  }
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(canonicalJson).join(",")}]`;
  const fields = Object.entries(value as Record<string, Json | undefined>)
    .filter((field): field is [string, Json] => field[1] !== undefined)
    .sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${fields.map(([name, item]) => `${canonicalJson(name)}:${canonicalJson(item)}`).join(",")}}`;
}

function unsigned(request: Request): Record<string, Json> {
  return {
    v: DELEGATED_VERSION,
    op: request.op,
    args: request.args,
    lease: request.lease,
    account: request.account,
    nonce: request.nonce,
    expires_ms: request.expiresMs,
    crypto: "ed25519",
    delegation: { text: request.delegation.text, signature: request.delegation.signature },
  };
}

/** Returns the bytes that the session key signs. They bind the request to one chain and to one host. */
export function requestPayload(request: Request, genesisHash: Bytes, hostKey: Bytes): Bytes {
  const context = utf8(REQUEST_CONTEXT + String(DELEGATED_VERSION));
  return concat(context, genesisHash, hostKey, utf8(canonicalJson(unsigned(request))));
}

/** Returns the request's bytes. Throws WireError if it is too long. */
export function encodeRequest(request: Request, signature: Bytes): Bytes {
  const data = utf8(canonicalJson({ ...unsigned(request), signature: digitsOf(signature) }));
  if (data.length > MAX_REQUEST) throw new WireError(`a request of ${data.length} bytes is longer than ${MAX_REQUEST}`);
  return data;
}

/** Returns the object in these bytes. Throws WireError if there is none. */
export function jsonObject(data: Uint8Array): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(data));
  } catch {
    throw new WireError("not JSON");
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw new WireError("not a JSON object");
  return value as Record<string, unknown>;
}

export function integer(fields: Record<string, unknown>, name: string, largest: number, smallest = 0): number {
  const value = fields[name];
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < smallest || value > largest) {
    throw new WireError(`${name} must be a whole number from ${smallest} to ${largest}`);
  }
  return value;
}

function text(fields: Record<string, unknown>, name: string, longest: number): string {
  const value = fields[name];
  if (typeof value !== "string" || value.length > longest) {
    throw new WireError(`${name} must be text of at most ${longest} characters`);
  }
  return value;
}

function digest(fields: Record<string, unknown>, name: string): Bytes {
  const digits = text(fields, name, 64);
  if (!/^[0-9a-fA-F]{64}$/.test(digits)) throw new WireError(`${name} must be 64 hexadecimal digits`);
  return bytesOf(digits);
}

type Reader<T> = (fields: Record<string, unknown>, name: string) => T;

function optional<T>(fields: Record<string, unknown>, name: string, read: Reader<T>): T | null {
  return fields[name] === undefined || fields[name] === null ? null : read(fields, name);
}

const count: Reader<number> = (fields, name) => integer(fields, name, Number.MAX_SAFE_INTEGER);

export function decodeAnswer(data: Uint8Array): Answer {
  const fields = jsonObject(data);
  return {
    size: optional(fields, "size", count),
    token: optional(fields, "token", (from, name) => text(from, name, 64)),
    held: optional(fields, "held", count),
    digest: optional(fields, "digest", digest),
  };
}

export function decodeRefusal(data: Uint8Array): Refusal {
  const fields = jsonObject(data);
  return {
    code: text(fields, "code", 32),
    message: text(fields, "message", 2048),
    hint: text(fields, "remedy", 2048),
  };
}

export function encodeRefusal(refusal: Refusal): Bytes {
  const { code, message, hint } = refusal;
  return utf8(canonicalJson({ code, message: message.slice(0, 1000), remedy: hint.slice(0, 400) }));
}

const MAX_ROWS = 1_000;
const MAX_EXIT_CODE = 2 ** 31;

export function decodeControl(data: Uint8Array): Control {
  if (data.length > MAX_CONTROL) {
    throw new WireError(`a control message of ${data.length} bytes is longer than ${MAX_CONTROL}`);
  }
  const fields = jsonObject(data);
  const done = fields["done"] ?? false;
  if (typeof done !== "boolean") throw new WireError("done must be true or false");
  return {
    resize: optional(fields, "resize", resizeOf),
    exitCode: optional(fields, "exit_code", (from, name) => integer(from, name, MAX_EXIT_CODE, -MAX_EXIT_CODE)),
    size: optional(fields, "size", count),
    digest: optional(fields, "digest", digest),
    done,
  };
}

function resizeOf(fields: Record<string, unknown>, name: string): readonly [number, number] {
  const value = fields[name];
  if (!Array.isArray(value) || value.length !== 2) throw new WireError("resize must be rows and columns");
  const both = { rows: value[0] as unknown, columns: value[1] as unknown };
  return [integer(both, "rows", MAX_ROWS, 1), integer(both, "columns", MAX_ROWS, 1)];
}

/** Returns the control message that sets the size of a terminal, which is kept within the protocol's bounds. */
export function encodeResize(rows: number, columns: number): Bytes {
  return utf8(canonicalJson({ resize: [bounded(rows), bounded(columns)] }));
}

export function bounded(size: number): number {
  return Math.min(Math.max(Math.trunc(size), 1), MAX_ROWS);
}
