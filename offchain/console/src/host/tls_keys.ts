/**
 * Keys and records of TLS 1.3 (RFC 8446) for one cipher suite, TLS_AES_128_GCM_SHA256, on WebCrypto: the key schedule
 * (section 7.1) and the protection of records (section 5).
 */

import { bigEndian, type Bytes, concat, utf8 } from "../lib/bytes.ts";
import { ConnectionLost } from "./errors.ts";
import { sha256 } from "./keys.ts";

const HASH_BYTES = 32;
const KEY_BYTES = 16;
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** Longest plaintext of a record, and what protection may add. */
export const MAX_PLAINTEXT = 2 ** 14;
export const MAX_CIPHERTEXT = MAX_PLAINTEXT + 256;
/** Records that one key protects: half of the limit of AES-GCM (section 5.5). Then a new connection is made. */
const MAX_RECORDS = 2 ** 23;

export const RecordType = { CHANGE_CIPHER_SPEC: 20, ALERT: 21, HANDSHAKE: 22, APPLICATION: 23 } as const;

export interface Content {
  type: number;
  data: Bytes;
}

export async function hmac(key: Bytes, data: Bytes): Promise<Bytes> {
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, data));
}

/** HKDF-Expand-Label for lengths up to one hash. */
export async function expandLabel(secret: Bytes, label: string, context: Bytes, length: number): Promise<Bytes> {
  const name = utf8(`tls13 ${label}`);
  const info = concat(bigEndian(length, 2), bigEndian(name.length, 1), name, bigEndian(context.length, 1), context);
  return (await hmac(secret, concat(info, Uint8Array.of(1)))).slice(0, length);
}

/** Derive-Secret; `transcript`: the hash of the messages. */
export function deriveSecret(secret: Bytes, label: string, transcript: Bytes): Promise<Bytes> {
  return expandLabel(secret, label, transcript, HASH_BYTES);
}

export interface HandshakeSecrets {
  client: Bytes;
  server: Bytes;
  master: Bytes;
}

/** Returns the traffic secrets of the handshake and the master secret, from the shared secret of X25519. */
export async function handshakeSecrets(shared: Bytes, transcript: Bytes): Promise<HandshakeSecrets> {
  const zeros = new Uint8Array(HASH_BYTES);
  const nothing = await sha256(new Uint8Array(0));
  const early = await hmac(zeros, zeros);
  const handshake = await hmac(await deriveSecret(early, "derived", nothing), shared);
  return {
    client: await deriveSecret(handshake, "c hs traffic", transcript),
    server: await deriveSecret(handshake, "s hs traffic", transcript),
    master: await hmac(await deriveSecret(handshake, "derived", nothing), zeros),
  };
}

/** Returns the content of a Finished message under a traffic secret. */
export async function finished(secret: Bytes, transcript: Bytes): Promise<Bytes> {
  return hmac(await expandLabel(secret, "finished", new Uint8Array(0), HASH_BYTES), transcript);
}

/** The protection of one direction under one traffic secret. Calls must not overlap. */
export class RecordProtection {
  #sequence = 0;

  private constructor(
    readonly key: CryptoKey,
    readonly iv: Bytes,
  ) {}

  static async of(secret: Bytes): Promise<RecordProtection> {
    const key = await expandLabel(secret, "key", new Uint8Array(0), KEY_BYTES);
    const iv = await expandLabel(secret, "iv", new Uint8Array(0), IV_BYTES);
    const imported = await crypto.subtle.importKey("raw", key, "AES-GCM", false, ["encrypt", "decrypt"]);
    return new RecordProtection(imported, iv);
  }

  /** Returns a record with this content, at most MAX_PLAINTEXT bytes. */
  async seal(type: number, data: Uint8Array): Promise<Bytes> {
    const header = recordHeader(RecordType.APPLICATION, data.length + 1 + TAG_BYTES);
    const content = concat(data, Uint8Array.of(type));
    return concat(header, new Uint8Array(await crypto.subtle.encrypt(this.#next(header), this.key, content)));
  }

  /** Returns the content of a record. Throws ConnectionLost if it is not one that the other side has sealed now. */
  async open(header: Bytes, sealed: Bytes): Promise<Content> {
    let padded: Bytes;
    try {
      padded = new Uint8Array(await crypto.subtle.decrypt(this.#next(header), this.key, sealed));
    } catch (error) {
      if (error instanceof ConnectionLost) throw error;
      throw new ConnectionLost("what came is not what the other side sent");
    }
    let end = padded.length - 1;
    while (end >= 0 && padded[end] === 0) end -= 1;
    if (end < 0) throw new ConnectionLost("a record without a type");
    if (end > MAX_PLAINTEXT) throw new ConnectionLost(`a record of ${end} bytes; the limit is ${MAX_PLAINTEXT}`);
    return { type: padded[end] ?? 0, data: padded.slice(0, end) };
  }

  #next(header: Bytes): AesGcmParams {
    if (this.#sequence >= MAX_RECORDS) throw new ConnectionLost("the keys of this connection are used up");
    const iv = this.iv.slice();
    bigEndian(this.#sequence, 4).forEach((byte, index) => {
      iv[IV_BYTES - 4 + index] = (iv[IV_BYTES - 4 + index] ?? 0) ^ byte;
    });
    this.#sequence += 1;
    return { name: "AES-GCM", iv, additionalData: header, tagLength: 8 * TAG_BYTES };
  }
}

export function recordHeader(type: number, length: number): Bytes {
  return concat(Uint8Array.of(type, 3, 3), bigEndian(length, 2));
}
