/** A stream of bytes each way, and waiting for what happens to it. */

import { type Bytes, concat } from "../lib/bytes.ts";
import { ConnectionLost, HostUnreachable } from "./errors.ts";

export interface ByteStream {
  /** Returns the next bytes, never none. Throws ConnectionLost. */
  read: () => Promise<Bytes>;
  /** Sends all of `data`. Throws ConnectionLost. */
  write: (data: Bytes) => Promise<void>;
  /** Ends the stream. Never throws. */
  close: () => void;
}

/** Wakes all who wait for it. */
export class Signal {
  #waiters: (() => void)[] = [];

  wait(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  fire(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }
}

/** Returns what a promise gives. Throws HostUnreachable with `message` after `ms`. */
export async function within<T>(ms: number, work: Promise<T>, message: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new HostUnreachable(message)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Reads exactly `size` bytes; more must not have come yet. Throws ConnectionLost. */
export async function exactly(stream: ByteStream, size: number): Promise<Bytes> {
  let data: Bytes = await stream.read();
  while (data.length < size) {
    data = concat(data, await stream.read());
  }
  if (data.length > size) throw new ConnectionLost("the other side does not speak this protocol");
  return data;
}
