/** State of a page in its URL, so that links, reloads and the back button keep it. */

export type UrlState = Readonly<Record<string, string>>;

/** Returns the path with these parameters; those equal to their default are left out, the others are sorted. */
export function urlWith(path: string, state: UrlState, defaults: UrlState = {}): string {
  const parameters = new URLSearchParams();
  for (const name of Object.keys(state).sort()) {
    const value = state[name];
    if (value !== undefined && value !== "" && value !== (defaults[name] ?? "")) parameters.set(name, value);
  }
  const query = parameters.toString();
  return query === "" ? path : `${path}?${query}`;
}

/** Returns the state in a query: known names only, each with its default where it is absent. */
export function stateOf<T extends UrlState>(query: Readonly<Record<string, string>>, defaults: T): T {
  const found: Record<string, string> = {};
  for (const name of Object.keys(defaults)) found[name] = query[name] ?? defaults[name] ?? "";
  return found as T;
}

/** Returns the query of an API list: empty values are left out. */
export function apiQuery(parameters: Readonly<Record<string, string | number | boolean | null | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null && value !== "") query.set(name, String(value));
  }
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}
