export function Launch() { return null; }
