import { expect, it } from "vitest";
import { LogWindow } from "../src/lib/log_window.ts";

it("keeps the end of a log within its bounds", () => {
  const window = new LogWindow(10, 3);
  expect(window.add("12345")).toEqual({ shown: "12345", removed: 0 });
  expect(window.add("67890")).toEqual({ shown: "67890", removed: 0 });
  expect(window.add("x")).toEqual({ shown: "x", removed: 1 });
  expect(window.characters).toBe(6);
  expect(window.add("a line that is too long")).toEqual({ shown: " too long".padStart(10, "s"), removed: 2 });
  expect(window.characters).toBe(10);
});

it("keeps a bounded number of pieces, however short", () => {
  const window = new LogWindow(1_000, 3);
  const removed = Array.from({ length: 9 }, () => window.add("").removed);
  expect(removed).toEqual([0, 0, 0, 1, 1, 1, 1, 1, 1]);
});
