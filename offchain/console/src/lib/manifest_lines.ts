/** Lines of a manifest: which ones have an error, and where in the text a line is. */

export interface ManifestError {
  line: number;
  key: string;
  message: string;
  hint: string;
}

/** Returns the number of lines of a text; an empty text has one. */
export function lineCount(text: string): number {
  return text.split("\n").length;
}

/** Returns the errors by line. Errors without a line, or of a line that the text does not have, are under 0. */
export function errorsByLine(errors: readonly ManifestError[], text: string): Map<number, ManifestError[]> {
  const lines = lineCount(text);
  const found = new Map<number, ManifestError[]>();
  for (const error of errors) {
    const line = error.line >= 1 && error.line <= lines ? error.line : 0;
    found.set(line, [...(found.get(line) ?? []), error]);
  }
  return found;
}

/** Returns where a line begins and ends in a text, for a selection. Lines are counted from 1. */
export function lineRange(text: string, line: number): [number, number] {
  const lines = text.split("\n");
  const index = Math.min(Math.max(line, 1), lines.length) - 1;
  const start = lines.slice(0, index).reduce((length, one) => length + one.length + 1, 0);
  return [start, start + (lines[index] ?? "").length];
}

/** Returns the line, counted from 1, of a position in a text. */
export function lineAt(text: string, position: number): number {
  return lineCount(text.slice(0, position));
}

/** Returns the names of the variables of a manifest, each once: NAME of $NAME and ${NAME:-default}; $$ is a dollar sign. */
export function variableNames(text: string): string[] {
  const names = new Set<string>();
  for (const found of text.matchAll(/\$(?:\$|\{?([A-Za-z_][A-Za-z0-9_]*))/g)) {
    if (found[1] !== undefined) names.add(found[1]);
  }
  return [...names];
}
