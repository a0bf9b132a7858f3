/** Times and durations. Times of the chain are shown in UTC, as exports and commands have them. */

/** Returns "2026-11-27 09:47:42". */
export function formatTime(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace("T", " ");
}

/** Returns the UTC day "2026-11-27". */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** Returns a time in the browser's zone, for the title of a time. */
export function localTime(ms: number): string {
  return new Date(ms).toLocaleString(undefined, { dateStyle: "full", timeStyle: "long" });
}

const UNITS: readonly (readonly [string, number])[] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
];

/** Returns a duration by its two largest units: "3 d 4 h", "1.25 s", "0 s". */
export function formatDuration(ms: number): string {
  if (ms < 0) return `\u2212${formatDuration(-ms)}`;
  if (ms < 10_000) return `${+(ms / 1000).toFixed(2)} s`;
  const first = UNITS.findIndex(([, size]) => ms >= size);
  const parts: string[] = [];
  let rest = ms;
  for (const [name, size] of UNITS.slice(first, first + 2)) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0 || parts.length === 0) parts.push(`${count} ${name}`);
  }
  return parts.join(" ");
}

/** Returns how long before `now` a time was: "12 s ago", or "in 3 min". */
export function relativeTime(ms: number, now: number): string {
  const difference = now - ms;
  if (Math.abs(difference) < 1_000) return "now";
  const first = UNITS.find(([, size]) => Math.abs(difference) >= size) ?? ["s", 1_000];
  const text = `${Math.floor(Math.abs(difference) / first[1])} ${first[0]}`;
  return difference > 0 ? `${text} ago` : `in ${text}`;
}

/** Returns the last `count` UTC days up to a time, oldest first. */
export function lastDays(now: number, count: number): string[] {
  return Array.from({ length: count }, (_, index) => dayOf(now - (count - 1 - index) * 86_400_000));
}
