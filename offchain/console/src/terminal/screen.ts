/** The screen of a terminal: xterm.js in the colours of the page, without anything that a program could abuse. */

import { FitAddon } from "@xterm/addon-fit";
import { type ITheme, Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import type { Bytes } from "../lib/bytes.ts";
import { defineStyleElement } from "./style_element.ts";

const SCROLLBACK_LINES = 5_000;

export interface ScreenEvents {
  onInput: (data: Bytes) => void;
  onResize: (rows: number, columns: number) => void;
  /** The person pressed the key that leaves the terminal. */
  onLeave: () => void;
}

export class TerminalScreen {
  #terminal: Terminal;
  #fit = new FitAddon();
  #observer: ResizeObserver;
  #scheme = window.matchMedia("(prefers-color-scheme: dark)");
  #recolour = (): void => {
    this.#terminal.options.theme = themeOf(this.place);
  };
  #themes = new MutationObserver(this.#recolour);

  constructor(
    readonly place: HTMLElement,
    readonly events: ScreenEvents,
    options: { isForScreenReaders: boolean },
  ) {
    defineStyleElement();
    this.#terminal = new Terminal({
      scrollback: SCROLLBACK_LINES,
      fontFamily: getComputedStyle(place).fontFamily,
      fontSize: 14,
      cursorBlink: false,
      screenReaderMode: options.isForScreenReaders,
      // Colours of programs are made for other backgrounds.
      minimumContrastRatio: 4.5,
      theme: themeOf(place),
      // A program may print links of its own text to anywhere: they are not followed.
      linkHandler: { activate: () => undefined },
    });
    this.#terminal.loadAddon(this.#fit);
    this.#terminal.open(place);
    this.#terminal.attachCustomKeyEventHandler((event) => this.#isForProgram(event));
    this.#terminal.onData((text) => events.onInput(new TextEncoder().encode(text)));
    this.#terminal.onBinary((text) => events.onInput(Uint8Array.from(text, (letter) => letter.charCodeAt(0))));
    this.#terminal.onResize(({ rows, cols }) => events.onResize(rows, cols));
    this.#observer = new ResizeObserver(() => this.#fit.fit());
    this.#observer.observe(place);
    this.#scheme.addEventListener("change", this.#recolour);
    this.#themes.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    this.#fit.fit();
  }

  /** Reports the present size again. */
  tellSize(): void {
    this.events.onResize(this.rows, this.columns);
  }

  get rows(): number {
    return this.#terminal.rows;
  }

  get columns(): number {
    return this.#terminal.cols;
  }

  /** Shows output; the promise resolves when it was processed, so that a fast program is slowed down. */
  write(data: Bytes): Promise<void> {
    return new Promise((resolve) => this.#terminal.write(data, resolve));
  }

  focus(): void {
    this.#terminal.focus();
  }

  setScreenReaderMode(isOn: boolean): void {
    this.#terminal.options.screenReaderMode = isOn;
  }

  get selection(): string {
    return this.#terminal.getSelection();
  }

  paste(text: string): void {
    this.#terminal.paste(text);
  }

  close(): void {
    this.#observer.disconnect();
    this.#scheme.removeEventListener("change", this.#recolour);
    this.#themes.disconnect();
    this.#terminal.dispose();
  }

  /** Returns whether a key is for the program, not for the page or the browser. */
  #isForProgram(event: KeyboardEvent): boolean {
    if (!event.ctrlKey || !event.shiftKey || event.altKey || event.metaKey) return true;
    switch (event.code) {
      case "KeyL":
        event.preventDefault();
        if (event.type === "keydown") this.events.onLeave();
        return false;
      case "KeyC":
        event.preventDefault();
        if (event.type === "keydown") void navigator.clipboard?.writeText(this.selection);
        return false;
      case "KeyV":
        return false; // the browser pastes
      default:
        return true;
    }
  }
}

function themeOf(place: HTMLElement): ITheme {
  const { color, backgroundColor } = getComputedStyle(place);
  return { foreground: color, background: backgroundColor, cursor: color, cursorAccent: backgroundColor };
}
