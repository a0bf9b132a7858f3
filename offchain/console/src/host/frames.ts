/** Frames: how sessions share one stream of bytes (offchain/schema/protocol/frames.py). */

import { bigEndian, type Bytes, concat, numberAt } from "../lib/bytes.ts";
import { WireError } from "./errors.ts";
import { MAX_ANSWER, MAX_REQUEST } from "./messages.ts";

export const HEADER_BYTES = 9;
/** Bytes of a body in one frame. */
export const MAX_DATA = 2 ** 18;

export type FrameName = "HELLO" | "OPEN" | "ACCEPT" | "REFUSE" | "DATA" | "END" | "CREDIT" | "RESET" | "GOAWAY";

/** Each kind with its longest payload, in the order of their numbers from 1. */
const KINDS: readonly (readonly [FrameName, number])[] = [
  ["HELLO", 256],
  ["OPEN", MAX_REQUEST],
  ["ACCEPT", MAX_ANSWER],
  ["REFUSE", 8192],
  ["DATA", MAX_DATA + 1],
  ["END", 0],
  ["CREDIT", 4],
  ["RESET", 8192],
  ["GOAWAY", 8192],
];

export interface Frame {
  kind: FrameName;
  session: number;
  payload: Bytes;
}

/** Returns the bytes of a frame. Throws WireError if the payload is too long. */
export function encodeFrame(kind: FrameName, session: number, ...payload: readonly Uint8Array[]): Bytes {
  const number = KINDS.findIndex(([name]) => name === kind);
  const longest = KINDS[number]?.[1] ?? 0;
  const length = payload.reduce((sum, part) => sum + part.length, 0);
  if (length > longest) throw new WireError(`${kind} of ${length} bytes is longer than ${longest}`);
  return concat(bigEndian(length, 4), bigEndian(number + 1, 1), bigEndian(session, 4), ...payload);
}

/** Splits a stream of bytes into frames. It holds less than one frame of the longest kind. */
export class FrameReader {
  #held: Bytes = new Uint8Array(0);

  /** Bytes of an incomplete frame. */
  get held(): number {
    return this.#held.length;
  }

  /** Returns the frames that `data` completes. Throws WireError as soon as one cannot be valid. */
  feed(data: Uint8Array): Frame[] {
    const held = this.#held.length === 0 ? concat(data) : concat(this.#held, data);
    const frames: Frame[] = [];
    let at = 0;
    while (held.length - at >= HEADER_BYTES) {
      const length = numberAt(held, at, 4);
      const number = numberAt(held, at + 4, 1);
      const kind = KINDS[number - 1];
      if (kind === undefined) throw new WireError(`a frame of unknown kind ${number}`);
      if (length > kind[1]) throw new WireError(`${kind[0]} of ${length} bytes; the limit is ${kind[1]}`);
      const start = at + HEADER_BYTES;
      if (held.length < start + length) break;
      frames.push({ kind: kind[0], session: numberAt(held, at + 5, 4), payload: held.slice(start, start + length) });
      at = start + length;
    }
    this.#held = held.slice(at);
    return frames;
  }
}
