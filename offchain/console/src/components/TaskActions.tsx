import type { Lease, Task } from "../api/types.ts"; export function TaskActions(_: { task: Task; leases: readonly Lease[]; onDone: () => void }) { return null; }
