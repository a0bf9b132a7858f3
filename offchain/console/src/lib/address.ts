/** Addresses (SS58) and hashes for people. */

/** Returns the first and last letters of an address or hash. */
export function shortAddress(text: string): string {
  return text.length <= 16 ? text : `${text.slice(0, 6)}…${text.slice(-6)}`;
}

export function isAddress(text: string): boolean {
  return /^[1-9A-HJ-NP-Za-km-z]{46,49}$/.test(text);
}

export function isHash(text: string): boolean {
  return /^0x[0-9a-f]{64}$/.test(text);
}

/** Returns the page of an address: that of a host if it is one cannot be known, so that of the account. */
export function accountPath(account: string): string {
  return `/accounts/${encodeURIComponent(account)}`;
}
