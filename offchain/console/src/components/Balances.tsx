/** Coins of the connected account: spendable, on hold, why and for which lease; and a transfer. */

import { useState } from "preact/hooks";
import type { Escrow } from "../api/account_types.ts";
import { type Loaded, useResource, useThrottled } from "../api/hooks.ts";
import { useEventStream } from "../api/stream.ts";
import type { Balance, Hold, Page, ResourceAnswer } from "../api/types.ts";
import { isAddress } from "../lib/address.ts";
import { parseAmount } from "../lib/money.ts";
import { spaced } from "../lib/states.ts";
import { apiQuery } from "../lib/url_state.ts";
import type { CallChoice } from "../wallet/calls.ts";
import { CallDialog } from "./CallDialog.tsx";
import { DataTable } from "./DataTable.tsx";
import { EscrowTable } from "./EscrowTable.tsx";
import { Empty, Load } from "./loading.tsx";
import { Amount, Tile, Wrong } from "./parts.tsx";

const REFRESH_MS = 1_000;

/** Returns the reason of a hold in words: "Billing.Escrow" is "escrow (billing)". */
function holdName(reason: string): string {
  const [pallet, name] = reason.split(".");
  return name === undefined ? spaced(reason) : `${spaced(name)} (${spaced(pallet ?? "")})`;
}

export function Balances(props: { account: string; after: string; pageHref: (after: string) => string }) {
  const path = `/v1/accounts/${encodeURIComponent(props.account)}`;
  const balance = useResource<ResourceAnswer<Balance>>(`${path}/balance`);
  const escrows = useResource<Page<Escrow>>(`${path}/escrows${apiQuery({ after: props.after })}`);
  const reload = (): void => {
    balance.reload();
    escrows.reload();
  };
  useEventStream({ subject: props.account }, useThrottled(reload, REFRESH_MS));
  return (
    <>
      <Holdings account={props.account} of={balance} />
      <EscrowTable of={escrows} pageHref={props.pageHref} isFirst={props.after === ""} />
    </>
  );
}

function Holdings(props: { account: string; of: Loaded<ResourceAnswer<Balance>> }) {
  return (
    <section class="stack">
      <h2>Balance</h2>
      <Load of={props.of} what="the balance">
        {({ data }) => (
          <>
            <ul class="tiles" aria-label="Balance">
              <Tile name="Spendable" note="for transfers, fees and deposits">
                <Amount value={data.spendable} digits={6} />
              </Tile>
              <Tile name="On hold" note="escrows, deposits, bonds">
                <Amount value={data.held} digits={6} />
              </Tile>
              <Tile name="Extrinsics sent">{data.nonce}</Tile>
            </ul>
            {data.holds.length === 0 ? (
              <Empty>No coins are on hold.</Empty>
            ) : (
              <DataTable<Hold>
                label="Coins on hold"
                rows={data.holds}
                keyOf={(row) => row.reason}
                columns={[
                  { title: "For", cell: (row) => holdName(row.reason) },
                  { title: "Amount", right: true, cell: (row) => <Amount value={row.amount} /> },
                ]}
              />
            )}
          </>
        )}
      </Load>
      <p>
        <a href={`/accounts/${encodeURIComponent(props.account)}`}>Every movement, and the CSV</a>
      </p>
    </section>
  );
}

export function Transfer() {
  const [to, setTo] = useState("");
  const [amount, setAmount] = useState("");
  const [wrong, setWrong] = useState("");
  const [call, setCall] = useState<CallChoice | null>(null);
  const submit = (event: Event): void => {
    event.preventDefault();
    try {
      if (!isAddress(to.trim())) throw new Error("Give the address of the receiver.");
      setCall({ action: "transfer", to: to.trim(), amount: parseAmount(amount).toString() });
      setWrong("");
    } catch (error) {
      setWrong(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <section class="stack no-print">
      <h2>Transfer</h2>
      <form class="filters" onSubmit={submit}>
        <label class="field">
          To (address)
          <input value={to} maxLength={64} onInput={(event) => setTo(event.currentTarget.value)} />
        </label>
        <label class="field">
          Amount (GTY)
          <input
            inputMode="decimal"
            value={amount}
            maxLength={40}
            onInput={(event) => setAmount(event.currentTarget.value)}
          />
        </label>
        <button type="submit">Review</button>
      </form>
      <Wrong>{wrong}</Wrong>
      {call !== null && (
        <CallDialog title="Transfer coins" call={call} onClose={() => setCall(null)} onFinal={() => undefined} />
      )}
    </section>
  );
}
