/**
 * The session key of this page: an ed25519 key that cannot leave the browser, to which the wallet delegates access to
 * the account's pods by one signature. It is in memory only, and forgotten with the account, on reload, and in time.
 */

import { useEffect, useState } from "preact/hooks";
import { digitsOf, type Bytes } from "../lib/bytes.ts";
import { whenAccountLeaves } from "../wallet/session.ts";
import type { Signer } from "../wallet/signers.ts";
import { DELEGABLE, delegationText, MOST_LIFE_MS } from "./delegation.ts";
import { newSessionPair, publicBytes, randomBytes, sign } from "./keys.ts";
import type { SignedDelegation } from "./messages.ts";

const NONCE_BYTES = 16;

export interface SessionKey {
  /** The account whose wallet has signed the delegation. */
  account: string;
  publicKey: Bytes;
  address: string;
  expiresMs: number;
  delegation: SignedDelegation;
  sign: (data: Bytes) => Promise<Bytes>;
}

let current: SessionKey | null = null;
/** Whether the last key of this page has expired, and no other was made since. */
let hasExpired = false;
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

function change(key: SessionKey | null): void {
  clearTimeout(timer);
  current = key;
  for (const listener of [...listeners]) listener();
}

/** Calls a function whenever the key changes. Returns a function that ends this. */
export function onSessionKey(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function sessionKey(): SessionKey | null {
  return current;
}

/** Returns the session key, and follows changes. */
export function useSessionKey(): { key: SessionKey | null; hasExpired: boolean } {
  const [, setTurn] = useState(0);
  useEffect(() => onSessionKey(() => setTurn((turn) => turn + 1)) as () => void, []);
  return { key: current, hasExpired };
}

/** Forgets the key: what uses it ends. */
export function forgetSessionKey(): void {
  hasExpired = false;
  change(null);
}

whenAccountLeaves(forgetSessionKey);

/** Makes a key, and has the wallet delegate to it for some hours, at most 12. Throws the wallet's errors. */
export async function delegateTo(signer: Signer, hours: number, genesisHash: string): Promise<void> {
  const { ss58Address } = await import("@polkadot-labs/hdkd-helpers");
  const pair = await newSessionPair();
  const publicKey = await publicBytes(pair.publicKey);
  const address = ss58Address(publicKey);
  const issuedMs = Date.now();
  const expiresMs = issuedMs + Math.min(hours * 3_600_000, MOST_LIFE_MS);
  const text = delegationText({
    domain: location.host,
    account: signer.address,
    key: address,
    may: DELEGABLE,
    chain: genesisHash.replace(/^0x/, "").slice(0, 32),
    nonce: digitsOf(randomBytes(NONCE_BYTES)),
    issuedMs,
    expiresMs,
  });
  const signature = (await signer.signText(text)).replace(/^0x/, "").toLowerCase();
  if (!/^[0-9a-f]{128,132}$/.test(signature)) throw new Error("The wallet returned no signature.");
  hasExpired = false;
  change({
    account: signer.address,
    publicKey,
    address,
    expiresMs,
    delegation: { text, signature },
    sign: (data) => sign(pair.privateKey, data),
  });
  timer = setTimeout(() => {
    hasExpired = true;
    change(null);
  }, expiresMs - Date.now());
}
