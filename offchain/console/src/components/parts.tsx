/** Small parts of pages: statuses, amounts, times, addresses, facts. All text is inserted as text, never as markup. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useTitle } from "../api/hooks.ts";
import { accountPath, isAddress, isHash, shortAddress } from "../lib/address.ts";
import { formatAmount, formatChange, formatCoins, SYMBOL } from "../lib/money.ts";
import type { Phrase } from "../lib/states.ts";
import { formatTime, localTime } from "../lib/time.ts";
import { Icon } from "./Icon.tsx";

let hasNavigated = false;

/** Notes that the person went to another page, so that its heading takes the focus. */
export function noteNavigation(): void {
  hasNavigated = true;
}

export function Heading(props: { title: string; children?: ComponentChildren; aside?: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useTitle(props.title);
  useEffect(() => {
    if (hasNavigated) heading.current?.focus({ preventScroll: true });
    hasNavigated = false;
  }, [props.title]);
  return (
    <div class="row row-end">
      <div>
        <h1 ref={heading} tabIndex={-1}>
          {props.title}
        </h1>
        {props.children !== undefined && <div class="muted">{props.children}</div>}
      </div>
      {props.aside !== undefined && <div class="row no-print">{props.aside}</div>}
    </div>
  );
}

export function Status(props: { phrase: Phrase }) {
  const { icon, text, tone } = props.phrase;
  return (
    <span class={`status status-${tone}`}>
      <Icon name={icon} />
      <span>{text}</span>
    </span>
  );
}

/** An amount; rounded to `digits` with the exact one in its title, or exact. */
export function Amount(props: { value: string | bigint | null; digits?: number; unit?: boolean }) {
  if (props.value === null) return <span class="muted">not known</span>;
  return (
    <span class="number" title={formatCoins(props.value)}>
      {formatAmount(props.value, props.digits)}
      {props.unit === false ? "" : ` ${SYMBOL}`}
    </span>
  );
}

export function Change(props: { value: string | null; digits?: number }) {
  if (props.value === null) return <span class="muted">not known</span>;
  return (
    <span class="number" title={formatCoins(props.value)}>
      {formatChange(props.value, props.digits)}
    </span>
  );
}

export function Time(props: { ms: number | null }) {
  if (props.ms === null) return <span class="muted">not yet</span>;
  return (
    <time class="number" dateTime={new Date(props.ms).toISOString()} title={localTime(props.ms)}>
      {formatTime(props.ms)}
    </time>
  );
}

/** A link to an account or host, shortened; the whole address is in its title and can be copied. */
export function Address(props: { account: string | null; kind?: "account" | "host"; whole?: boolean }) {
  if (props.account === null) return <span class="muted">none</span>;
  const path = props.kind === "host" ? `/hosts/${encodeURIComponent(props.account)}` : accountPath(props.account);
  return (
    <span class="nowrap">
      <a class="mono" href={path} title={props.account}>
        {props.whole === true ? props.account : shortAddress(props.account)}
      </a>
      <Copy text={props.account} what="address" />
    </span>
  );
}

export function Hash(props: { hash: string; href?: string; whole?: boolean; what?: string }) {
  const text = props.whole === true ? props.hash : shortAddress(props.hash);
  return (
    <span>
      {props.href === undefined ? (
        <code title={props.hash}>{text}</code>
      ) : (
        <a class="mono" href={props.href} title={props.hash}>
          {text}
        </a>
      )}
      <Copy text={props.hash} what={props.what ?? "hash"} />
    </span>
  );
}

const COPY_ICONS = { "": "copy", copied: "done", failed: "failed" } as const;

export function Copy(props: { text: string; what: string }) {
  const [state, setState] = useState<"" | "copied" | "failed">("");
  useEffect(() => {
    if (state === "") return undefined;
    const timer = setTimeout(() => setState(""), 2_000);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = (): void => {
    // Browsers offer the clipboard on TLS and loopback only.
    (navigator.clipboard?.writeText(props.text) ?? Promise.reject(new Error("no clipboard"))).then(
      () => setState("copied"),
      () => setState("failed"),
    );
  };
  const label = { "": `Copy ${props.what}`, copied: "Copied", failed: "Copying failed: mark the text" }[state];
  return (
    <button type="button" class="copy" onClick={copy} aria-label={`${label} ${shortAddress(props.text)}`} title={label}>
      <Icon name={COPY_ICONS[state]} />
    </button>
  );
}

/** Names and values. Entries whose value is undefined are left out. */
export function Facts(props: { facts: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {props.facts
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => (
          <>
            <dt key={`${name} name`}>{name}</dt>
            <dd key={name}>{value}</dd>
          </>
        ))}
    </dl>
  );
}

export function Tile(props: { name: string; children: ComponentChildren; note?: ComponentChildren }) {
  return (
    <li class="tile">
      <div class="muted small">{props.name}</div>
      <div class="tile-value">{props.children}</div>
      {props.note !== undefined && <div class="muted small">{props.note}</div>}
    </li>
  );
}

/** A value of an event: addresses and hashes as links, everything else as text. */
export function EventValue(props: { value: unknown }) {
  const { value } = props;
  if (typeof value === "string" && isAddress(value)) return <Address account={value} />;
  if (typeof value === "string" && isHash(value)) return <Hash hash={value} href={`/search?q=${value}`} />;
  if (value !== null && typeof value === "object") return <code>{JSON.stringify(value)}</code>;
  return <span>{String(value)}</span>;
}

export interface Tab {
  id: string;
  name: string;
}

/** Links between the views of a page, which are in its URL. */
export function Tabs(props: { label: string; tabs: readonly Tab[]; current: string; href: (id: string) => string }) {
  return (
    <nav class="tabs" aria-label={props.label}>
      {props.tabs.map((tab) => (
        <a key={tab.id} href={props.href(tab.id)} aria-current={tab.id === props.current ? "page" : undefined}>
          {tab.name}
        </a>
      ))}
    </nav>
  );
}

/** What is wrong with the value of a field; nothing where it is empty. */
export function Wrong(props: { children: ComponentChildren }) {
  return props.children === "" ? null : (
    <p class="status status-bad" role="alert">
      {props.children}
    </p>
  );
}
