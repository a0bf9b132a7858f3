/** The connected account, and its sign-in. Keys stay in the wallet; a development account's key is known to everybody. */

import { useEffect, useState } from "preact/hooks";
import { asProblem, type Problem, request, setToken, whenTokenIsRefused } from "../api/client.ts";
import type { NewSession, ResourceAnswer, Session, SignInMessage } from "../api/types.ts";
import type { AccountChoice, Signer } from "./signers.ts";
import { signerOf } from "./signers.ts";

export interface WalletState {
  signer: Signer | null;
  session: Session | null;
  /** Whether this gateway has sign-in; null: not known yet. */
  hasSignIn: boolean | null;
  /** Why the last sign-in failed. */
  problem: Problem | null;
  choice: AccountChoice | null;
}

interface Stored {
  choice: AccountChoice;
  session: NewSession | null;
}

const KEY = "gantry-session";
let state: WalletState = { signer: null, session: null, hasSignIn: null, problem: null, choice: null };
const listeners = new Set<(state: WalletState) => void>();

function change(next: Partial<WalletState>): void {
  state = { ...state, ...next };
  for (const listener of listeners) listener(state);
}

/** Returns the connected account and its sign-in, and follows changes. */
export function useWallet(): WalletState {
  const [seen, setSeen] = useState(state);
  useEffect(() => {
    setSeen(state);
    listeners.add(setSeen);
    return () => {
      listeners.delete(setSeen);
    };
  }, []);
  return seen;
}

/** Connects an account, and signs in with it. Throws the wallet's errors where the account cannot be connected. */
export async function connect(choice: AccountChoice): Promise<void> {
  const signer = await signerOf(choice);
  leave();
  store({ choice, session: null });
  change({ signer, choice, session: null, problem: null });
  await signIn();
}

/** Signs in with the connected account. What goes wrong is in the state: the account stays connected. */
export async function signIn(): Promise<void> {
  const { signer, choice } = state;
  if (signer === null || choice === null) return;
  change({ problem: null });
  try {
    const asked = await request<ResourceAnswer<SignInMessage>>("/v1/sign-in/message", {
      method: "POST",
      body: { account: signer.address },
    });
    change({ hasSignIn: true });
    const { message } = asked.data;
    const signature = await signer.signText(message);
    const begun = await request<ResourceAnswer<NewSession>>("/v1/sign-in", {
      method: "POST",
      body: { message, signature },
    });
    setToken(begun.data.token);
    store({ choice, session: begun.data });
    change({ session: begun.data });
  } catch (error) {
    const problem = asProblem(error);
    // Without sign-in the account can still sign extrinsics.
    if (problem.code === "sign_in_off") change({ hasSignIn: false });
    else change({ problem });
  }
}

whenTokenIsRefused(() => change({ session: null }));

/** Signs out, and forgets the account. */
export async function disconnect(): Promise<void> {
  const hadSession = state.session !== null;
  if (hadSession) await request("/v1/session", { method: "DELETE" }).catch(() => undefined);
  forget();
}

const leaving = new Set<() => void>();

/** Calls a function whenever the connected account leaves: on sign-out, and when another one is connected. */
export function whenAccountLeaves(call: () => void): void {
  leaving.add(call);
}

function leave(): void {
  for (const call of leaving) call();
}

function forget(): void {
  leave();
  setToken(null);
  store(null);
  change({ signer: null, session: null, choice: null, problem: null });
}

/** Restores the account of this tab after a reload. A session that the gateway refuses is dropped. */
export async function restore(): Promise<void> {
  const stored = read();
  if (stored === null) return;
  try {
    change({ signer: await signerOf(stored.choice), choice: stored.choice });
  } catch {
    // The wallet is locked or gone: the person connects again.
    return;
  }
  if (stored.session === null || stored.session.expires_ms <= Date.now()) return;
  setToken(stored.session.token);
  try {
    const present = await request<ResourceAnswer<Session>>("/v1/session");
    change({ session: present.data, hasSignIn: true });
  } catch (error) {
    change({ problem: asProblem(error) });
  }
}

function store(value: Stored | null): void {
  try {
    if (value === null) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, JSON.stringify(value));
  } catch {
    // Without storage the account is connected until the page is loaded again.
  }
}

function read(): Stored | null {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "null") as Stored | null;
  } catch {
    return null;
  }
}
