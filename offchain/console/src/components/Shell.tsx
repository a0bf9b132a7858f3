/** What surrounds every page: navigation, search, theme, account. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { useBlock } from "../api/hooks.ts";
import { shortAddress } from "../lib/address.ts";
import { formatTime } from "../lib/time.ts";
import { useWallet } from "../wallet/session.ts";
import icon from "../icon.svg";
import { PageFailure } from "./PageFailure.tsx";
import { Icon } from "./Icon.tsx";

const EXPLORER = [
  "/blocks",
  "/extrinsics",
  "/accounts",
  "/tasks",
  "/leases",
  "/hosts",
  "/challenges",
  "/disputes",
  "/digests",
  "/search",
  "/state",
];

const PAGES: readonly { path: string; name: string; also?: readonly string[] }[] = [
  { path: "/", name: "Explorer", also: EXPLORER },
  { path: "/market", name: "Market" },
  { path: "/launch", name: "Launch" },
  { path: "/provider", name: "Provider" },
  { path: "/operator", name: "Operator" },
];

export function Shell(props: { children: ComponentChildren }) {
  const { path } = useLocation();
  const isCurrent = (page: (typeof PAGES)[number]): boolean =>
    path === page.path || (page.also ?? []).some((one) => path.startsWith(one));
  return (
    <>
      <a class="skip-link" href="#main">
        Skip to content
      </a>
      <header class="header">
        <div class="header-inner">
          <a class="brand" href="/">
            <img src={icon} alt="" width={24} height={24} />
            Gantry
          </a>
          <nav class="nav" aria-label="Main">
            {PAGES.map((page) => (
              <a key={page.path} href={page.path} aria-current={isCurrent(page) ? "page" : undefined}>
                {page.name}
              </a>
            ))}
          </nav>
          <SearchBox />
          <div class="row header-tools">
            <ThemeButton />
            <AccountLink />
          </div>
        </div>
      </header>
      <main class="main stack-large" id="main" tabIndex={-1}>
        <PageFailure path={path}>{props.children}</PageFailure>
      </main>
      <footer class="footer">
        <LastBlock />
        <p>
          All times are UTC. <a href="/v1/openapi.json">OpenAPI document</a> of the data shown here.
        </p>
      </footer>
    </>
  );
}

function SearchBox() {
  const { route, query, path } = useLocation();
  const [text, setText] = useState(path === "/search" ? (query["q"] ?? "") : "");
  const search = (event: Event): void => {
    event.preventDefault();
    if (text.trim() !== "") route(`/search?q=${encodeURIComponent(text.trim())}`);
  };
  return (
    <form class="search" role="search" onSubmit={search}>
      <input
        type="search"
        name="q"
        aria-label="Search: number, hash, digest or address"
        placeholder="Number, hash, digest or address"
        maxLength={80}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <button type="submit">Search</button>
    </form>
  );
}

function LastBlock() {
  const block = useBlock();
  if (block === null) return null;
  return (
    <p>
      Last final block of the index: <a href={`/blocks/${block.number}`}>{block.number}</a>, {formatTime(block.time_ms)}
      .
    </p>
  );
}

const THEMES = ["auto", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];
const THEME_ICONS = { auto: "half", light: "sun", dark: "moon" } as const;
const THEME_KEY = "gantry-theme";

/** Applies the theme that was chosen before. */
export function applyTheme(): Theme {
  let stored: string | null = null;
  try {
    stored = localStorage.getItem(THEME_KEY);
  } catch {
    // A browser without storage has the theme of the system.
  }
  const theme = THEMES.find((one) => one === stored) ?? "auto";
  if (theme === "auto") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.setAttribute("data-theme", theme);
  return theme;
}

function ThemeButton() {
  const [theme, setTheme] = useState(applyTheme);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "auto";
  const change = (): void => {
    try {
      localStorage.setItem(THEME_KEY, next);
    } catch {
      return;
    }
    setTheme(applyTheme());
  };
  const label = `Theme: ${theme}. Change to ${next}`;
  return (
    <button type="button" onClick={change} aria-label={label} title={label}>
      <Icon name={THEME_ICONS[theme]} />
    </button>
  );
}

function AccountLink() {
  const wallet = useWallet();
  const { path } = useLocation();
  const text = wallet.signer === null ? "Connect" : shortAddress(wallet.signer.address);
  return (
    <a class="button" href="/account" aria-current={path === "/account" ? "page" : undefined}>
      {wallet.signer === null ? text : <span class="mono">{text}</span>}
    </a>
  );
}
