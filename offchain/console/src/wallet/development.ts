/** Accounts of development networks. Their keys are published in every Substrate tool: they guard nothing. */

import { sr25519CreateDerive } from "@polkadot-labs/hdkd";
import { DEV_MINI_SECRET, ss58Address } from "@polkadot-labs/hdkd-helpers";
import { bytesOf } from "../lib/bytes.ts";
import { hexOf, type Signer } from "./signers.ts";

/** The variant Sr25519 of MultiSignature. */
const SR25519 = "01";

export function developmentSigner(path: string): Signer {
  const pair = sr25519CreateDerive(DEV_MINI_SECRET)(path);
  return {
    address: ss58Address(pair.publicKey),
    name: path.slice(2),
    source: "development",
    signText: async (text) => hexOf(pair.sign(new TextEncoder().encode(text))),
    signExtrinsic: async (_payload, signingPayloadHex) =>
      `0x${SR25519}${hexOf(pair.sign(bytesOf(signingPayloadHex))).slice(2)}`,
  };
}
