/** A statement of an account for a time: a table to print or to save as PDF, and the CSV. */

import { useLocation } from "preact-iso";
import { useAllPages } from "../api/hooks.ts";
import type { Movement } from "../api/types.ts";
import { sum } from "../lib/money.ts";
import { isWithin } from "../lib/statement_days.ts";
import { Load } from "./loading.tsx";
import { MovementTable } from "./MovementTable.tsx";
import { Amount, Facts } from "./parts.tsx";

const MOST_PAGES = 20;

export function Statement(props: {
  account: string;
  from: string;
  to: string;
  href: (from: string, to: string) => string;
}) {
  const name = encodeURIComponent(props.account);
  const movements = useAllPages<Movement>(`/v1/accounts/${name}/movements?limit=500`, MOST_PAGES);
  return (
    <section class="stack">
      <div class="row row-end">
        <h2>Statement</h2>
        <div class="row no-print">
          <a class="button" href={`/v1/accounts/${name}/movements?format=csv&order=oldest`} download="coins.csv">
            Download all as CSV
          </a>
          <button type="button" onClick={() => window.print()}>
            Print or save as PDF
          </button>
        </div>
      </div>
      <Days {...props} />
      <Load of={movements} what="movements">
        {(rows) => {
          const chosen = rows.filter((row) => isWithin(row.time_ms, props.from, props.to));
          const changes = (of: (row: Movement) => string | null): bigint => sum(chosen.map((row) => of(row) ?? "0"));
          return (
            <>
              <div class="card">
                <Facts
                  facts={[
                    ["Account", <code>{props.account}</code>],
                    ["From", props.from || "the first movement"],
                    ["To", props.to || "now"],
                    ["Movements", chosen.length],
                    ["Change of free coins", <Amount value={changes((row) => row.free_change)} />],
                    ["Change of coins on hold", <Amount value={changes((row) => row.held_change)} />],
                    [
                      "Fees paid",
                      <Amount value={sum(chosen.filter((row) => row.category === "fee").map((row) => row.amount))} />,
                    ],
                  ]}
                />
              </div>
              {!movements.isComplete && (
                <p class="notice notice-warn">
                  Only the newest {rows.length} movements are here. The CSV has all of them.
                </p>
              )}
              <MovementTable
                of={{ ...movements, data: { as_of: { number: 0, hash: "", time_ms: 0 }, data: chosen, next: null } }}
                pageHref={() => ""}
                isFirst
              />
            </>
          );
        }}
      </Load>
    </section>
  );
}

function Days(props: { from: string; to: string; href: (from: string, to: string) => string }) {
  const { route } = useLocation();
  const show = (event: Event & { currentTarget: HTMLFormElement }): void => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    route(props.href(String(fields.get("from") ?? ""), String(fields.get("to") ?? "")));
  };
  return (
    <form class="filters" onSubmit={show}>
      <label class="field">
        From (UTC day)
        <input type="date" name="from" defaultValue={props.from} />
      </label>
      <label class="field">
        To (UTC day)
        <input type="date" name="to" defaultValue={props.to} />
      </label>
      <button type="submit">Show</button>
    </form>
  );
}
