import { dayOf } from "./time.ts";

/** Returns whether a time is on a UTC day from `from` to `to`, both included; "" does not restrict. */
export function isWithin(ms: number, from: string, to: string): boolean {
  const day = dayOf(ms);
  return (from === "" || day >= from) && (to === "" || day <= to);
}
