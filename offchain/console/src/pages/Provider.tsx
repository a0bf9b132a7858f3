export function Provider() { return null; }
