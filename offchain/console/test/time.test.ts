import { expect, it } from "vitest";
import { dayOf, formatDuration, formatTime, lastDays, relativeTime } from "../src/lib/time.ts";
import { isWithin } from "../src/lib/statement_days.ts";

const NOON = Date.UTC(2026, 10, 27, 12, 0, 5);

it("shows times in UTC", () => {
  expect(formatTime(NOON)).toBe("2026-11-27 12:00:05");
  expect(dayOf(NOON)).toBe("2026-11-27");
});

it.each([
  [0, "0 s"],
  [1_250, "1.25 s"],
  [61_000, "1 min 1 s"],
  [3_600_000, "1 h"],
  [90_061_000, "1 d 1 h"],
  [-5_000, "−5 s"],
])("shows %d ms as %s", (ms, text) => expect(formatDuration(ms)).toBe(text));

it("tells how long ago", () => {
  expect(relativeTime(NOON - 12_000, NOON)).toBe("12 s ago");
  expect(relativeTime(NOON + 180_000, NOON)).toBe("in 3 min");
  expect(relativeTime(NOON, NOON)).toBe("now");
});

it("lists the last days across a month", () => {
  expect(lastDays(Date.UTC(2026, 11, 1), 3)).toEqual(["2026-11-29", "2026-11-30", "2026-12-01"]);
});

it("takes both ends of a statement", () => {
  expect(isWithin(NOON, "2026-11-27", "2026-11-27")).toBe(true);
  expect(isWithin(NOON, "2026-11-28", "")).toBe(false);
  expect(isWithin(NOON, "", "2026-11-26")).toBe(false);
  expect(isWithin(NOON, "", "")).toBe(true);
});
