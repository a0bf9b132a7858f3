/**
 * An element that takes the place of the style elements that xterm.js makes: the console's policy allows no inline
 * styles, but style sheets that a script constructs. vite.config.ts replaces the names in xterm.js.
 */

export const STYLE_ELEMENT = "gantry-style";

class ConstructedStyle extends HTMLElement {
  #sheet = new CSSStyleSheet();

  override set textContent(rules: string) {
    this.#sheet.replaceSync(rules);
  }

  override get textContent(): string {
    return "";
  }

  connectedCallback(): void {
    document.adoptedStyleSheets.push(this.#sheet);
  }

  disconnectedCallback(): void {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== this.#sheet);
  }
}

export function defineStyleElement(): void {
  if (customElements.get(STYLE_ELEMENT) === undefined) customElements.define(STYLE_ELEMENT, ConstructedStyle);
}
