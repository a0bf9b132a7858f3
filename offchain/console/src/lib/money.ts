/** Amounts of coins: base units as decimal text in the API, bigint here, GTY for people. */

export const DECIMALS = 12;
export const SYMBOL = "GTY";
const UNIT = 10n ** BigInt(DECIMALS);

/** Groups digits by threes with a thin space, which no locale reads as a decimal sign. */
function grouped(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

/**
 * Returns an amount in GTY. `digits`: the most decimals; more precise amounts are rounded towards zero and marked
 * with "≈", so that a rounded amount is never taken for an exact one. Without `digits` the amount is exact.
 */
export function formatAmount(amount: bigint | string, digits = DECIMALS): string {
  const value = BigInt(amount);
  const absolute = value < 0n ? -value : value;
  const fraction = (absolute % UNIT).toString().padStart(DECIMALS, "0");
  const kept = fraction.slice(0, digits).replace(/0+$/, "");
  const isExact = /^0*$/.test(fraction.slice(digits));
  const sign = value < 0n ? "\u2212" : "";
  const whole = grouped((absolute / UNIT).toString());
  if (!isExact && absolute < UNIT && kept === "") {
    return `${sign}< ${digits > 0 ? `0.${"1".padStart(digits, "0")}` : "1"}`;
  }
  return `${isExact ? "" : "≈ "}${sign}${whole}${kept === "" ? "" : `.${kept}`}`;
}

/** Returns an exact amount with its unit. */
export function formatCoins(amount: bigint | string): string {
  return `${formatAmount(amount)} ${SYMBOL}`;
}

/** Returns a change with its sign: "+1.5", "−0.25", "0". */
export function formatChange(amount: bigint | string, digits = DECIMALS): string {
  const value = BigInt(amount);
  return value > 0n ? `+${formatAmount(value, digits)}` : formatAmount(value, digits);
}

/** Returns base units of a text in GTY such as "2.5" or "2.5 GTY". Throws an Error that says what is wrong. */
export function parseAmount(text: string): bigint {
  const found = /^\s*(\d{1,26})(?:\.(\d*))?\s*(?:GTY)?\s*$/i.exec(text.replace(/[\u202f\u00a0]/g, ""));
  if (!found) throw new Error(`“${text}” is no amount in GTY. Write it like 2.5.`);
  const decimals = found[2] ?? "";
  if (decimals.length > DECIMALS) throw new Error(`“${text}” has more than ${DECIMALS} decimals.`);
  return BigInt(found[1] ?? "0") * UNIT + BigInt(decimals.padEnd(DECIMALS, "0") || "0");
}

/** Returns amount × ms of an hourly rate, rounded down as the chain does. */
export function rateForTime(ratePerHour: bigint, ms: bigint): bigint {
  return (ratePerHour * ms) / 3_600_000n;
}

export function sum(amounts: Iterable<string | bigint>): bigint {
  let total = 0n;
  for (const amount of amounts) total += BigInt(amount);
  return total;
}
