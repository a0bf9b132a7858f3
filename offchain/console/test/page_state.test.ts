import { describe, expect, it } from "vitest";
import { earningsByDay } from "../src/lib/earnings.ts";
import { errorsByLine, lineAt, lineCount, lineRange, variableNames } from "../src/lib/manifest_lines.ts";
import { findings, type HealthFacts } from "../src/lib/network_health.ts";
import { storageKeys } from "../src/lib/storage_keys.ts";
import { apiQuery, stateOf, urlWith } from "../src/lib/url_state.ts";

describe("state in the URL", () => {
  const defaults = { sort: "price", model: "" };

  it("comes back as it was", () => {
    const state = { sort: "reputation", model: "A100 & more/=?" };
    const url = new URL(urlWith("/market", state, defaults), "http://localhost");
    expect(stateOf(Object.fromEntries(url.searchParams), defaults)).toEqual(state);
  });

  it("leaves defaults out, and ignores what it does not know", () => {
    expect(urlWith("/market", { sort: "price", model: "" }, defaults)).toBe("/market");
    expect(stateOf({ other: "x" }, defaults)).toEqual(defaults);
  });

  it("makes queries of the API without empty values", () => {
    expect(apiQuery({ a: "", b: 0, c: false, d: null, e: "x y" })).toBe("?b=0&c=false&e=x+y");
    expect(apiQuery({})).toBe("");
  });
});

describe("keys of stored values", () => {
  it("are JSON as it was written, or text", () => {
    expect(storageKeys("")).toBe("");
    expect(storageKeys(" \n ")).toBe("");
    expect(storageKeys("5Grw\n 7 \n[1,2]")).toBe('["5Grw",7,[1,2]]');
    expect(storageKeys("18446744073709551615")).toBe("[18446744073709551615]");
    expect(storageKeys('"quoted"\n"open')).toBe('["quoted","\\"open"]');
  });
});

describe("lines of a manifest", () => {
  const text = "name: a\nservices:\n  x: {}\n";
  const error = (line: number) => ({ line, key: "k", message: "m", hint: "h" });

  it("are counted with the last empty one", () => expect([lineCount(""), lineCount(text)]).toEqual([1, 4]));

  it("have their errors; those of no line are under 0", () => {
    const found = errorsByLine([error(2), error(2), error(9), error(0)], text);
    expect([...found].map(([line, errors]) => [line, errors.length])).toEqual([
      [2, 2],
      [0, 2],
    ]);
  });

  it("are ranges of the text, and found by position", () => {
    const [start, end] = lineRange(text, 2);
    expect(text.slice(start, end)).toBe("services:");
    expect(lineAt(text, start)).toBe(2);
    expect(lineRange(text, 99)).toEqual([text.length, text.length]);
  });

  it("name their variables once, and dollar signs none", () => {
    expect(variableNames("${A:-1} $B $$C ${A} $$${D:?no}")).toEqual(["A", "B", "D"]);
  });
});

describe("problems of a network", () => {
  const facts: HealthFacts = {
    nowMs: 1_000_000,
    blockMs: 998_000,
    hosts: [{ status: "Online" }],
    devices: [{ healthy: true, challenged: false }],
    queued: [],
    disputed: 0,
    schedulers: 1,
  };
  const texts = (change: Partial<HealthFacts>): string[] => findings({ ...facts, ...change }).map((one) => one.text);

  it("are none if all is well", () => expect(texts({})).toEqual([]));

  it.each([
    [{ blockMs: 900_000 }, "1 min 40 s old"],
    [{ hosts: [{ status: "Online" }, { status: "Offline" }] }, "1 host is offline"],
    [{ hosts: [] }, "No host is online"],
    [{ hosts: [{ status: "Online" }, { status: "Suspended(Slashed)" }] }, "1 host is suspended"],
    [{ devices: [{ healthy: false, challenged: false }] }, "1 GPU is unhealthy"],
    [{ queued: [{ changed_ms: 600_000 }, { changed_ms: 1 }] }, "2 tasks wait"],
    [{ disputed: 2 }, "2 disputes are open"],
    [{ schedulers: 0 }, "No scheduler is bonded"],
  ])("are found: %o", (change, text) => {
    const found = texts(change);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(text);
  });

  it("are told the worst first", () => {
    const found = findings({ ...facts, disputed: 1, schedulers: 0 });
    expect(found.map((one) => one.severity)).toEqual(["bad", "warn"]);
  });
});

it("sums a provider's payments by day, and nothing else", () => {
  const day = Date.UTC(2026, 10, 27);
  const movement = (time_ms: number, category: string, free_change: string | null) => ({
    time_ms,
    category,
    free_change,
  });
  const found = earningsByDay(
    [
      movement(day + 5, "payment", "9007199254740993"),
      movement(day + 9, "payment", "1"),
      movement(day + 9, "payment", "-5"),
      movement(day + 9, "transfer", "100"),
      movement(day - 1, "payment", "7"),
      movement(day - 9 * 86_400_000, "payment", "3"),
      movement(day, "payment", null),
    ],
    day + 10,
    2,
  );
  expect(found).toEqual([
    { day: "2026-11-26", amount: 7n },
    { day: "2026-11-27", amount: 9007199254740994n },
  ]);
});
