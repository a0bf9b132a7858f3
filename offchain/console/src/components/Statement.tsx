/** A statement of an account for a time: a table to print, the CSV, and the gateway's PDF. */

import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import { asProblem, requestFile, type Problem } from "../api/client.ts";
import { useAllPages } from "../api/hooks.ts";
import type { Movement } from "../api/types.ts";
import { sum } from "../lib/money.ts";
import { saveFile } from "../lib/save_file.ts";
import { timesOf } from "../lib/statement_days.ts";
import { apiQuery } from "../lib/url_state.ts";
import { Load, ProblemNotice } from "./loading.tsx";
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
  const times = timesOf(props.from, props.to);
  const movements = useAllPages<Movement>(
    `/v1/accounts/${name}/movements${apiQuery({ limit: 500, ...times })}`,
    MOST_PAGES,
  );
  const csv = apiQuery({ format: "csv", order: "oldest", ...times });
  const pdf = useDownload(`/v1/accounts/${name}/statement.pdf${apiQuery(times)}`, "statement.pdf");
  return (
    <section class="stack">
      <div class="row row-end">
        <h2>Statement</h2>
        <div class="row no-print">
          <a class="button" href={`/v1/accounts/${name}/movements${csv}`} download="coins.csv">
            Download as CSV
          </a>
          <button type="button" disabled={pdf.isBusy} onClick={() => void pdf.save()}>
            Download as PDF
          </button>
          <button type="button" onClick={() => window.print()}>
            Print
          </button>
        </div>
      </div>
      {pdf.problem !== null && <ProblemNotice problem={pdf.problem} />}
      <Days {...props} />
      <Load of={movements} what="movements">
        {(chosen) => {
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
                  Only the newest {chosen.length} movements are here. The CSV has all of them.
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

function useDownload(path: string, file: string) {
  const [isBusy, setIsBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const save = async (): Promise<void> => {
    setProblem(null);
    setIsBusy(true);
    try {
      saveFile(file, [await requestFile(path)]);
    } catch (error) {
      setProblem(asProblem(error));
    }
    setIsBusy(false);
  };
  return { isBusy, problem, save };
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
