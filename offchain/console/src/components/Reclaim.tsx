/** Gives a tenant notice: for the provider of the host of a lease of a service or rental. */

import { useState } from "preact/hooks";
import { useResource } from "../api/hooks.ts";
import type { Host, Lease, ResourceAnswer } from "../api/types.ts";
import { useWallet } from "../wallet/session.ts";
import { CallDialog } from "./CallDialog.tsx";

export function Reclaim(props: { lease: Lease; kind: string; onDone: () => void }) {
  const { signer } = useWallet();
  const [isOpen, setIsOpen] = useState(false);
  const canReclaim = signer !== null && props.kind !== "Job" && props.lease.ended_ms === null;
  const host = useResource<ResourceAnswer<Host>>(
    canReclaim ? `/v1/hosts/${encodeURIComponent(props.lease.host)}` : null,
  );
  if (!canReclaim || host.data?.data.provider !== signer.address) return null;
  return (
    <section class="card stack no-print">
      <h2>Your host</h2>
      <p class="muted">Take the resources back: the tenant is given notice, and pays until the notice is over.</p>
      <button type="button" onClick={() => setIsOpen(true)}>
        Reclaim
      </button>
      {isOpen && (
        <CallDialog
          title="Reclaim the resources of a lease"
          call={{ action: "task.reclaim", lease: props.lease.lease }}
          onClose={() => setIsOpen(false)}
          onFinal={props.onDone}
        />
      )}
    </section>
  );
}
