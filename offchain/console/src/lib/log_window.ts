/** The part of a log that a page shows: its end, within bounds, so that an endless log costs no more memory. */

export const MAX_CHARACTERS = 2 ** 18;
export const MAX_PIECES = 2_000;

export class LogWindow {
  #sizes: number[] = [];
  #characters = 0;

  constructor(
    readonly maxCharacters = MAX_CHARACTERS,
    readonly maxPieces = MAX_PIECES,
  ) {}

  get characters(): number {
    return this.#characters;
  }

  /** Returns the part of a new piece that is shown, and how many of the oldest pieces are to be removed for it. */
  add(text: string): { shown: string; removed: number } {
    const shown = text.slice(-this.maxCharacters);
    this.#sizes.push(shown.length);
    this.#characters += shown.length;
    let removed = 0;
    while (this.#characters > this.maxCharacters || this.#sizes.length > this.maxPieces) {
      this.#characters -= this.#sizes.shift() ?? 0;
      removed += 1;
    }
    return { shown, removed };
  }
}
