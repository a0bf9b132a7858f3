/** Accounts that can sign: those of wallet extensions, and those of development networks. */

import { digitsOf } from "../lib/bytes.ts";

/** Which account to connect: of an extension (its key in window.injectedWeb3), or a development account ("//Alice"). */
export type AccountChoice =
  { kind: "extension"; extension: string; address: string } | { kind: "development"; path: string };

/** SignerPayloadJSON of polkadot.js, as the gateway makes it. */
export type SignerPayload = Readonly<Record<string, unknown>>;

export interface Signer {
  address: string;
  name: string;
  source: string;
  /** Returns the signature of a text, in hex. */
  signText: (text: string) => Promise<string>;
  /** Returns the signature of an extrinsic, in hex. */
  signExtrinsic: (payload: SignerPayload, signingPayloadHex: string) => Promise<string>;
}

interface InjectedAccount {
  address: string;
  name?: string;
}

interface Injected {
  accounts: { get: (anyType?: boolean) => Promise<InjectedAccount[]> };
  signer: {
    signRaw?: (raw: { address: string; data: string; type: "bytes" }) => Promise<{ signature: string }>;
    signPayload?: (payload: SignerPayload) => Promise<{ signature: string }>;
  };
}

interface InjectedProvider {
  version?: string;
  enable: (origin: string) => Promise<Injected>;
}

declare global {
  interface Window {
    injectedWeb3?: Record<string, InjectedProvider>;
  }
}

const ORIGIN = "Gantry console";

/** Returns the names of the wallet extensions of this browser. */
export function extensions(): string[] {
  return Object.keys(window.injectedWeb3 ?? {}).sort();
}

/** Returns the accounts that the person allows this page to see. */
export async function accountsOf(extension: string): Promise<InjectedAccount[]> {
  return (await enabled(extension)).accounts.get();
}

/** Extensions add themselves some time after the page has begun to load. */
const INJECTED_WITHIN_MS = 2_000;
const LOOK_EVERY_MS = 100;

async function enabled(extension: string): Promise<Injected> {
  const until = Date.now() + INJECTED_WITHIN_MS;
  while (window.injectedWeb3?.[extension] === undefined && Date.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  const provider = window.injectedWeb3?.[extension];
  if (provider === undefined) throw new Error(`The wallet ${extension} is not installed in this browser.`);
  return provider.enable(ORIGIN);
}

export async function signerOf(choice: AccountChoice): Promise<Signer> {
  if (choice.kind === "development") {
    const { developmentSigner } = await import("./development.ts");
    return developmentSigner(choice.path);
  }
  const injected = await enabled(choice.extension);
  const account = (await injected.accounts.get()).find((one) => one.address === choice.address);
  if (account === undefined)
    throw new Error(`The wallet ${choice.extension} does not offer ${choice.address} to this page.`);
  const address = await chainAddress(choice.address);
  const lacks = (what: string): Error => new Error(`The wallet ${choice.extension} cannot sign ${what}.`);
  return {
    address,
    name: account.name ?? "",
    source: choice.extension,
    signText: async (text) => {
      if (injected.signer.signRaw === undefined) throw lacks("texts");
      const signed = await injected.signer.signRaw({ address: choice.address, data: hexOf(text), type: "bytes" });
      return signed.signature;
    },
    signExtrinsic: async (payload) => {
      if (injected.signer.signPayload === undefined) throw lacks("extrinsics");
      return (await injected.signer.signPayload(payload)).signature;
    },
  };
}

/** Returns an address in the form of the chain (prefix 42): some wallets give that of another network. */
async function chainAddress(address: string): Promise<string> {
  if (address.startsWith("5") && address.length >= 47) return address;
  const { ss58Address, ss58Decode } = await import("@polkadot-labs/hdkd-helpers");
  return ss58Address(ss58Decode(address)[0]);
}

/** Returns the bytes, or the UTF-8 bytes of a text, as 0x and hex digits. */
export function hexOf(data: string | Uint8Array): string {
  return `0x${digitsOf(data)}`;
}
