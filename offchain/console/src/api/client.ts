/** Requests to the API of the gateway that serves this page. */

import type { BlockReference } from "./types.ts";

/** An error of the API (RFC 9457), or of the way to it. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly hint: string,
    readonly field: string | null,
  ) {
    super(detail);
    this.name = "Problem";
  }
}

let token: string | null = null;
let onRefusedToken: () => void = () => undefined;
let seenBlock: BlockReference | null = null;
const blockListeners = new Set<(block: BlockReference) => void>();

/** Sets the token that requests carry; null: none. */
export function setToken(value: string | null): void {
  token = value;
}

/** Sets what is done when the gateway refuses the token: it expired, or was revoked elsewhere. */
export function whenTokenIsRefused(call: () => void): void {
  onRefusedToken = call;
}

/** Calls a function with the newest block of any answer, now and later. Returns a function that ends this. */
export function onBlock(listener: (block: BlockReference) => void): () => void {
  blockListeners.add(listener);
  if (seenBlock !== null) listener(seenBlock);
  return () => blockListeners.delete(listener);
}

/** Notes a block of an answer or event, if it is newer than the last. */
export function noteBlock(block: BlockReference): void {
  if (seenBlock !== null && block.number <= seenBlock.number) return;
  seenBlock = block;
  for (const listener of blockListeners) listener(block);
}

export interface RequestOptions {
  method?: "GET" | "POST" | "DELETE";
  body?: unknown;
  signal?: AbortSignal;
}

/** Returns the JSON of an answer. Throws Problem; an AbortError where the signal ends the request. */
export async function request<T>(path: string, options: RequestOptions = {}): Promise<T> {
  const answer = await answered(path, options);
  const body: unknown = await answer.json().catch(() => null);
  if (body !== null && typeof body === "object" && "as_of" in body) noteBlock(body.as_of as BlockReference);
  return body as T;
}

/** Returns the bytes of a file that the API serves. Throws Problem. */
export async function requestFile(path: string): Promise<ArrayBuffer> {
  return (await answered(path, {})).arrayBuffer();
}

/** Returns a successful answer. Throws Problem. */
async function answered(path: string, options: RequestOptions): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (token !== null) headers["Authorization"] = `Bearer ${token}`;
  const init: RequestInit = { method: options.method ?? "GET", headers };
  if (options.signal) init.signal = options.signal;
  if (options.body !== undefined) {
    headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(options.body);
  }
  let answer: Response;
  try {
    answer = await fetch(path, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Problem(
      0,
      "unreachable",
      "The gateway cannot be reached.",
      "Check your connection; the page asks again.",
      null,
    );
  }
  if (!answer.ok) {
    const problem = problemOf(answer.status, await answer.json().catch(() => null));
    if (token !== null && problem.code === "not_signed_in") {
      token = null;
      onRefusedToken();
    }
    throw problem;
  }
  return answer;
}

/** Returns the problem of an answer; one that is no problem document has its status. */
export function problemOf(status: number, body: unknown): Problem {
  const found = (body ?? {}) as Record<string, unknown>;
  const text = (name: string): string => (typeof found[name] === "string" ? (found[name] as string) : "");
  const detail = text("detail") || text("title") || `The gateway answered with status ${status}.`;
  return new Problem(status, text("code") || "unknown", detail, text("hint"), text("field") || null);
}

/** Returns a problem of any thrown value. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const text = error instanceof Error ? error.message : String(error);
  return new Problem(0, "console", text, "", null);
}

/** Returns whether a failure may pass: no connection, an index that is not ready, too many requests. */
export function isPassing(problem: Problem): boolean {
  return problem.status === 0 || problem.status === 429 || problem.status === 503;
}
