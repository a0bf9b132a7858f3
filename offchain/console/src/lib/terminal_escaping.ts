/**
 * Escaping of untrusted text, as offchain/schema/terminal_escaping.py does it: control sequences and invisible
 * characters can hide, reorder or forge text. The vectors of both are the same.
 */

/** Format characters but the two joiners, separators of lines and paragraphs, surrogates; letters without a shape. */
const UNSEEN =
  "\\u{ad}\\u{600}-\\u{605}\\u{61c}\\u{6dd}\\u{70f}\\u{890}\\u{891}\\u{8e2}\\u{180e}\\u{200b}\\u{200e}\\u{200f}" +
  "\\u{2028}-\\u{202e}\\u{2060}-\\u{206f}\\u{d800}-\\u{dfff}\\u{feff}\\u{fff0}-\\u{fffb}\\u{110bd}\\u{110cd}" +
  "\\u{13430}-\\u{1343f}\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}" +
  "\\u{34f}\\u{115f}\\u{1160}\\u{17b4}\\u{17b5}\\u{180b}-\\u{180f}\\u{3164}\\u{ffa0}";
const COLOUR = "\\x1b\\[[0-9;:]{0,32}m";
const IN_STREAM = new RegExp(`(${COLOUR})|[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f${UNSEEN}]`, "gu");
const IN_LINE = new RegExp(`[\\x00-\\x1f\\x7f-\\x9f\\u{200c}\\u{200d}${UNSEEN}]`, "gu");
const BEGUN = /\x1b(\[[0-9;:]{0,32})?$/;

/** Returns a text in one line: line feeds, control and invisible characters are escaped. */
export function escapedLine(text: string): string {
  return text.replace(IN_LINE, writtenOut);
}

/** Escapes a stream of bytes that arrives in pieces, for a page that shows no colours: their sequences are left out. */
export class StreamEscaper {
  #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #begun = "";

  /** Returns what can be shown now. An incomplete sequence is kept until its end. */
  feed(data: Uint8Array): string {
    const found = this.#begun + this.#decoder.decode(data, { stream: true });
    this.#begun = BEGUN.exec(found)?.[0] ?? "";
    return shown(found.slice(0, found.length - this.#begun.length));
  }

  /** Returns the rest of the stream. */
  end(): string {
    const rest = this.#begun + this.#decoder.decode();
    this.#begun = "";
    return shown(rest);
  }
}

function shown(text: string): string {
  return text.replace(IN_STREAM, (found: string, colour?: string) => (colour === undefined ? writtenOut(found) : ""));
}

const SHORT: Readonly<Record<string, string>> = { "\t": "\\t", "\n": "\\n", "\r": "\\r" };

function writtenOut(found: string): string {
  const code = found.codePointAt(0) ?? 0;
  const digits = (length: number): string => code.toString(16).padStart(length, "0");
  if (SHORT[found] !== undefined) return SHORT[found];
  return code < 0x100 ? `\\x${digits(2)}` : code < 0x10000 ? `\\u${digits(4)}` : `\\U${digits(8)}`;
}
