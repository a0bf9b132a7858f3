/**
 * Returns keys of stored values as the API takes them, a JSON array, from lines of text: each is JSON, an address, or
 * other text. "" gives "", for an item without keys.
 */
export function storageKeys(lines: string): string {
  const keys = lines
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  return keys.length === 0 ? "" : `[${keys.map(asJson).join(",")}]`;
}

function asJson(text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch {
    return JSON.stringify(text);
  }
}
