const DAY_MS = 86_400_000;

/** Returns the first and last ms of the UTC days from `from` to `to`, both included; "" does not restrict. */
export function timesOf(from: string, to: string): { first_ms?: number; last_ms?: number } {
  const [first, last] = [from, to].map((day) => (day === "" ? NaN : Date.parse(`${day}T00:00:00Z`)));
  return {
    ...(first !== undefined && Number.isFinite(first) && { first_ms: first }),
    ...(last !== undefined && Number.isFinite(last) && { last_ms: last + DAY_MS - 1 }),
  };
}
