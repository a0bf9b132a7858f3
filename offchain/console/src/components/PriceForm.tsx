/** Changes the price of a host's GPUs. Other prices stay as they are; open leases keep theirs. */

import { useState } from "preact/hooks";
import type { Offer } from "../api/types.ts";
import { formatAmount, parseAmount } from "../lib/money.ts";
import { shortAddress } from "../lib/address.ts";
import type { CallChoice } from "../wallet/calls.ts";
import { Wrong } from "./parts.tsx";

export function PriceForm(props: { offers: readonly Offer[]; onChoose: (call: CallChoice) => void }) {
  const [chosen, setChosen] = useState(0);
  const [price, setPrice] = useState("");
  const [wrong, setWrong] = useState("");
  const offer = props.offers[chosen] ?? props.offers[0];
  if (offer === undefined) return null;
  const submit = (event: Event): void => {
    event.preventDefault();
    try {
      const amount = parseAmount(price).toString();
      props.onChoose({ action: "host.set_ask", host: offer.host, ...change(offer, amount) });
      setWrong("");
    } catch (error) {
      setWrong(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <form class="card filters no-print" onSubmit={submit}>
      <label class="field">
        Host and model
        <select value={chosen} onChange={(event) => setChosen(Number(event.currentTarget.value))}>
          {props.offers.map((one, index) => (
            <option key={`${one.host} ${one.model ?? ""} ${String(one.simulated)}`} value={index}>
              {shortAddress(one.host)}: {one.model ?? "cores"}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        New list price an hour (GTY)
        <input
          inputMode="decimal"
          maxLength={40}
          value={price}
          onInput={(event) => setPrice(event.currentTarget.value)}
        />
      </label>
      <button type="submit">Change the price</button>
      <p class="muted small">List price now: {formatAmount(listPrice(offer))} GTY.</p>
      <Wrong>{wrong}</Wrong>
    </form>
  );
}

function listPrice(offer: Offer): string {
  if (offer.model === null) return offer.ask.cpu_core_per_hour;
  return offer.ask.gpu.find((one) => one.model === offer.model)?.per_hour ?? offer.ask.gpu_per_hour;
}

/** Returns the fields of the new price list: that of the model if it has a price of its own, else of all other models. */
function change(offer: Offer, amount: string): Record<string, unknown> {
  if (offer.model === null) return { cpu_core_per_hour: amount };
  if (!offer.ask.gpu.some((one) => one.model === offer.model)) return { gpu_per_hour: amount };
  return { gpu: offer.ask.gpu.map((one) => (one.model === offer.model ? { ...one, per_hour: amount } : one)) };
}
