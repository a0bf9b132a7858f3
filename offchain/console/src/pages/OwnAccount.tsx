export function OwnAccount() { return null; }
