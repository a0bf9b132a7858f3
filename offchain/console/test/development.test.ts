import { expect, it } from "vitest";
import { sr25519 } from "@polkadot-labs/hdkd-helpers";
import { developmentSigner } from "../src/wallet/development.ts";
import { bytesOf } from "../src/lib/bytes.ts";
import { hexOf } from "../src/wallet/signers.ts";

const ALICE = "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY";

it("derives the addresses that every Substrate tool has", () => {
  expect(developmentSigner("//Alice").address).toBe(ALICE);
  expect(developmentSigner("//Charlie").address).toBe("5FLSigC9HGRKVhB9FiEo4Y3koPsNmBmLJbpXg2mp1hXcS59Y");
});

it("signs the payload as it is, as a MultiSignature of sr25519", async () => {
  const payload = hexOf(new Uint8Array(300).fill(7));
  const signature = bytesOf(await developmentSigner("//Alice").signExtrinsic({}, payload));
  expect(signature).toHaveLength(65);
  expect(signature[0]).toBe(1);
  const publicKey = bytesOf("0xd43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d");
  expect(sr25519.verify(signature.slice(1), bytesOf(payload), publicKey)).toBe(true);
});

it("refuses what are no bytes", () => expect(() => bytesOf("0x1g")).toThrow());
