/** The text by which a wallet delegates access to pods to a session key (offchain/schema/protocol/delegation.py). */

export const MOST_LIFE_MS = 12 * 3_600_000;
export const DELEGABLE = ["logs", "result", "exec"] as const;

export interface Delegation {
  /** Host and port of the page that asks, for the person who signs. */
  domain: string;
  account: string;
  /** Address of the session key. */
  key: string;
  may: readonly (typeof DELEGABLE)[number][];
  /** The first 32 hex digits of the genesis hash. */
  chain: string;
  /** 32 hex digits. */
  nonce: string;
  issuedMs: number;
  expiresMs: number;
}

/** Returns the text to be signed. */
export function delegationText(delegation: Delegation): string {
  const { domain, account, key, may, chain, nonce, issuedMs, expiresMs } = delegation;
  return (
    `${domain} asks for access to the pods of your account:\n${account}\n\n` +
    `Key: ${key}\nMay: ${may.join(", ")}\nChain ID: polkadot:${chain}\nNonce: ${nonce}\n` +
    `Issued At: ${new Date(issuedMs).toISOString()}\nExpiration Time: ${new Date(expiresMs).toISOString()}`
  );
}
