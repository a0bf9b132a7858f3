"""The chain on this machine: single and batched extrinsics, cost by size of state, bytes."""
