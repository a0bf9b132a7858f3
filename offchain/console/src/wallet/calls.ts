/** Calls of the connected account: built by the gateway, signed by the wallet, sent, and followed to a final block. */

import { isPassing, Problem, request } from "../api/client.ts";
import type { Event, Extrinsic, Page, Submitted, UnsignedExtrinsic } from "../api/types.ts";
import { apiQuery } from "../lib/url_state.ts";
import type { Signer } from "./signers.ts";

/** A call for POST /v1/extrinsics/build: an action of the API with its parameters. */
export type CallChoice = { readonly action: string } & Readonly<Record<string, unknown>>;

const LOOK_EVERY_MS = 1_000;

export function build(account: string, call: CallChoice): Promise<UnsignedExtrinsic> {
  return request<UnsignedExtrinsic>("/v1/extrinsics/build", { method: "POST", body: { account, call } });
}

/** Signs an extrinsic and sends it. Throws Problem, and the wallet's errors. */
export async function signAndSend(signer: Signer, unsigned: UnsignedExtrinsic): Promise<Submitted> {
  const signature = await signer.signExtrinsic(unsigned.payload, unsigned.signing_payload_hex);
  return request<Submitted>("/v1/extrinsics", {
    method: "POST",
    body: { account: signer.address, call_hex: unsigned.call_hex, payload: unsigned.payload, signature },
  });
}

/** Waits until an extrinsic is in a final block. Throws Problem if the chain passes the block until which it is valid. */
export async function inFinalBlock(hash: string, expiresAtBlock: number, signal: AbortSignal): Promise<Extrinsic> {
  for (;;) {
    try {
      const found = await request<Page<Extrinsic>>(`/v1/extrinsics/${hash}`, { signal });
      const newest = found.data.at(-1);
      if (newest !== undefined) return newest;
    } catch (error) {
      const isMissing = error instanceof Problem && error.code === "not_found";
      if (!isMissing && !(error instanceof Problem && isPassing(error))) throw error;
    }
    const { as_of } = await request<{ as_of: { number: number } }>("/v1/network", { signal });
    if (as_of.number > expiresAtBlock) {
      throw new Problem(
        0,
        "expired",
        `No block up to ${expiresAtBlock} included the extrinsic.`,
        "Build and sign it again.",
        null,
      );
    }
    await new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, LOOK_EVERY_MS);
      signal.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(new DOMException("ended", "AbortError"));
      });
    });
  }
}

/** Returns the number of the task that an extrinsic submitted, from its events; null if it submitted none. */
export async function submittedTask(extrinsic: Extrinsic): Promise<number | null> {
  const { block, index } = extrinsic;
  const events = await request<Page<Event>>(
    `/v1/events${apiQuery({ first_block: block, last_block: block, extrinsic: index, order: "oldest", limit: 500 })}`,
  );
  const submitted = events.data.find((event) => event.pallet === "Tasks" && event.name === "Submitted");
  const first = submitted?.fields["first"];
  return typeof first === "number" ? first : null;
}
