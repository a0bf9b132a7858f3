/**
 * Returns the lowest, mean, highest and last of the values that are there, rounded to `digits` decimals; four nulls
 * where none is.
 */
export function extremes(values: readonly (number | null)[], digits = 0): (number | null)[] {
  const found = values.filter((value) => value !== null);
  const last = found.at(-1);
  if (last === undefined) return [null, null, null, null];
  const mean = found.reduce((total, value) => total + value, 0) / found.length;
  return [Math.min(...found), mean, Math.max(...found), last].map((value) => Number(value.toFixed(digits)));
}
