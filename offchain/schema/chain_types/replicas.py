"""Tasks whose results are compared."""

from __future__ import annotations

from offchain.schema.chain_types._generated_chain import TaskSpec, VerificationPolicyRedundant


def replicas_of(spec: TaskSpec) -> int:
    """Return how many results of a task are compared first; 0: they are not compared."""
    policy = spec.verification
    return policy.replicas if isinstance(policy, VerificationPolicyRedundant) else 0
