/** Signatures and hashes by the browser (WebCrypto). Pages have it over TLS and on loopback only. */

import type { Bytes } from "../lib/bytes.ts";

const ED25519 = "Ed25519";

/** A pair whose private key cannot leave the browser. */
export async function newSessionPair(): Promise<CryptoKeyPair> {
  return (await crypto.subtle.generateKey(ED25519, false, ["sign", "verify"])) as CryptoKeyPair;
}

export async function publicBytes(key: CryptoKey): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.exportKey("raw", key));
}

export async function sign(key: CryptoKey, data: Bytes): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.sign(ED25519, key, data));
}

/** Returns whether a signature is one of this ed25519 key. */
export async function isSigned(publicKey: Bytes, data: Bytes, signature: Bytes): Promise<boolean> {
  try {
    const key = await crypto.subtle.importKey("raw", publicKey, ED25519, false, ["verify"]);
    return await crypto.subtle.verify(ED25519, key, signature, data);
  } catch {
    return false; // no key of the curve
  }
}

export async function sha256(data: Bytes): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", data));
}

export function randomBytes(size: number): Bytes {
  return crypto.getRandomValues(new Uint8Array(size));
}

/** Returns why this browser cannot make session keys; empty if it can. */
export async function missingCryptography(): Promise<string> {
  if (crypto.subtle === undefined) return "Browsers make keys on pages over TLS or on this machine only.";
  try {
    await newSessionPair();
    return "";
  } catch {
    return "This browser has no ed25519 keys: use Chrome 137, Firefox 130, Safari 17 or newer.";
  }
}
