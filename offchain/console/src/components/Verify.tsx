/** How to verify a record without trusting this page, its gateway or any node. */

import { useResource } from "../api/hooks.ts";
import type { Network, ResourceAnswer } from "../api/types.ts";
import { urlWith } from "../lib/url_state.ts";
import { Copy } from "./parts.tsx";

export function Verify(props: { subject: string; file: string; isFinal?: boolean }) {
  const network = useResource<ResourceAnswer<Network>>("/v1/network");
  const genesis = network.data?.data.genesis_hash ?? "GENESIS_HASH";
  const [kind = "", id = ""] = props.subject.split(" ");
  const commands = `gantry audit prove ${props.subject} -o ${props.file}\ngantry audit verify ${props.file} --genesis ${genesis}`;
  return (
    <section class="stack no-print">
      <h2>Verify offline</h2>
      <p class="muted">
        A gateway can show wrong numbers. These commands fetch a proof from any node, check it against the genesis hash
        alone, and compute the bills again. Take the genesis hash from a source that you trust, not from here.
        {props.isFinal === true && " A task that has been final for long needs --at with the block of its last event."}
      </p>
      <p>
        <a href={urlWith("/state", { kind, id })}>State at a block</a>: the stored values, and the proof as a file.
      </p>
      <div class="row">
        <pre tabIndex={0}>{commands}</pre>
        <Copy text={commands} what="commands" />
      </div>
    </section>
  );
}
