/** Connections of this page to the hosts of pods. They end with the session key. */

import type { Network } from "../api/types.ts";
import { bytesOf, type Bytes } from "../lib/bytes.ts";
import { HostClient } from "./host_client.ts";
import { sessionStream } from "./peer.ts";
import { dialGateway, proveToHost } from "./relay.ts";
import { onSessionKey, type SessionKey, sessionKey } from "./session_key.ts";
import { within } from "./stream.ts";
import { secured } from "./tls_client.ts";

const HANDSHAKE_MS = 15_000;

let gateway: HostClient | null = null;
const hosts = new Map<string, HostClient>();

function closeAll(): void {
  gateway?.close();
  gateway = null;
  for (const client of hosts.values()) client.close();
  hosts.clear();
}

onSessionKey(closeAll);

async function accountKey(address: string): Promise<Bytes> {
  const { ss58Decode } = await import("@polkadot-labs/hdkd-helpers");
  return Uint8Array.from(ss58Decode(address)[0]);
}

/** Returns the client of a host, through the gateway that serves this page. Throws an Error without a session key. */
export async function hostClient(network: Network, host: string): Promise<HostClient> {
  const [hostKey, gatewayKey] = await Promise.all([accountKey(host), accountKey(network.relay ?? "")]);
  const key = sessionKey();
  if (key === null) throw new Error("This page has no session key.");
  const genesis = bytesOf(network.genesis_hash);
  const relay = (gateway ??= new HostClient(gatewayKey, genesis, key, () => dialGateway(gatewayKey, key)));
  const known = hosts.get(host);
  if (known !== undefined) return known;
  const made = new HostClient(hostKey, genesis, key, () => dialHost(relay, hostKey, key));
  hosts.set(host, made);
  return made;
}

async function dialHost(relay: HostClient, hostKey: Bytes, key: SessionKey) {
  const carried = sessionStream(await relay.carry(hostKey));
  try {
    const work = async () => {
      const stream = await secured(carried, hostKey);
      await proveToHost(stream, hostKey, key);
      return stream;
    };
    return await within(HANDSHAKE_MS, work(), "The host did not answer within 15 s.");
  } catch (error) {
    carried.close();
    throw error;
  }
}
