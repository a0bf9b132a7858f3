/** Bytes: joined, compared, written as hex digits and as big-endian numbers. */

export type Bytes = Uint8Array<ArrayBuffer>;

export function concat(...parts: readonly Uint8Array[]): Bytes {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Returns whether two values are equal, in a time that does not depend on where they differ. */
export function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let at = 0; at < one.length; at += 1) difference |= (one[at] ?? 0) ^ (other[at] ?? 0);
  return difference === 0;
}

export function utf8(text: string): Bytes {
  return new TextEncoder().encode(text);
}

/** Returns the hex digits of bytes, or of the UTF-8 bytes of a text, without 0x. */
export function digitsOf(data: string | Uint8Array): string {
  const bytes = typeof data === "string" ? utf8(data) : data;
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Returns the bytes of hex digits, with or without 0x. Throws an Error. */
export function bytesOf(hex: string): Bytes {
  const digits = hex.replace(/^0x/, "");
  if (!/^([0-9a-fA-F]{2})*$/.test(digits)) throw new Error("These are not bytes in hex.");
  return Uint8Array.from(digits.match(/../g) ?? [], (byte) => parseInt(byte, 16));
}

/** Returns the `size` bytes of a whole number, the highest first. */
export function bigEndian(value: number, size: 1 | 2 | 3 | 4): Bytes {
  return Uint8Array.from({ length: size }, (_, index) => (value / 2 ** (8 * (size - 1 - index))) & 0xff);
}

/** Returns the number in `size` bytes at an offset. Throws RangeError beyond the end. */
export function numberAt(data: Uint8Array, at: number, size: 1 | 2 | 3 | 4): number {
  if (at + size > data.length) throw new RangeError(`${size} bytes at ${at} of ${data.length}`);
  let value = 0;
  for (const byte of data.subarray(at, at + size)) value = value * 256 + byte;
  return value;
}
