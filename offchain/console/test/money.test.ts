import { describe, expect, it } from "vitest";
import { formatAmount, formatChange, formatCoins, parseAmount, rateForTime, sum } from "../src/lib/money.ts";

const plain = (text: string): string => text.replace(/\u202f/g, " ");

describe("formatAmount", () => {
  it.each([
    ["0", "0"],
    ["1", "0.000000000001"],
    ["1000000000000", "1"],
    ["2500000000000", "2.5"],
    ["1234567000000000000", "1 234 567"],
    ["-1500000000000", "−1.5"],
    // Larger than any double holds exactly.
    ["340282366920938463463374607431768211455", "340 282 366 920 938 463 463 374 607.431768211455"],
  ])("shows %s exactly as %s", (amount, text) => {
    expect(plain(formatAmount(amount))).toBe(text);
  });

  it("marks what is rounded, towards zero", () => {
    expect(formatAmount("1999999999999", 2)).toBe("≈ 1.99");
    expect(formatAmount("1990000000000", 2)).toBe("1.99");
    expect(formatAmount("-1999999999999", 0)).toBe("≈ −1");
  });

  it("never shows an amount as 0 that is not", () => {
    expect(formatAmount("1", 6)).toBe("< 0.000001");
    expect(formatAmount("0", 6)).toBe("0");
  });
});

it("shows the sign of a change", () => {
  expect(formatChange("1000000000000")).toBe("+1");
  expect(formatChange("-1000000000000")).toBe("−1");
  expect(formatChange("0")).toBe("0");
});

it("names the unit", () => expect(formatCoins("1")).toBe("0.000000000001 GTY"));

describe("parseAmount", () => {
  it.each([
    ["2.5", 2_500_000_000_000n],
    [" 2.5 GTY ", 2_500_000_000_000n],
    ["0.000000000001", 1n],
    ["7.", 7_000_000_000_000n],
  ])("reads %s", (text, amount) => expect(parseAmount(text)).toBe(amount));

  it.each(["", "-1", "1e3", "1,5", "GTY", "0.0000000000001", "one"])("refuses %s", (text) => {
    expect(() => parseAmount(text)).toThrow();
  });

  it("reads what formatAmount shows", () => {
    for (const amount of [0n, 1n, 999n, 10n ** 12n, 123_456_789_012_345_678n, 10n ** 30n]) {
      expect(parseAmount(formatAmount(amount))).toBe(amount);
    }
  });
});

it("multiplies rates beyond the range of doubles, rounded down", () => {
  expect(rateForTime(10n ** 30n + 1n, 1n)).toBe((10n ** 30n + 1n) / 3_600_000n);
});

it("sums decimal texts", () => expect(sum(["9007199254740993", 1n])).toBe(9007199254740994n));
