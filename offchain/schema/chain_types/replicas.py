"""Tasks whose hosts commit their results before they are compared."""

from __future__ import annotations

from offchain.schema.chain_types._generated_chain import (
    TaskSpec,
    VerificationPolicyAudit,
    VerificationPolicyRedundant,
)


def replicas_of(spec: TaskSpec) -> int:
    """Return how many results of a task are compared in any case; 0: none are, or only those of drawn audits."""
    policy = spec.verification
    return policy.replicas if isinstance(policy, VerificationPolicyRedundant) else 0


def is_audited(spec: TaskSpec) -> bool:
    """Return whether the chain draws if another host repeats the work of the task."""
    return isinstance(spec.verification, VerificationPolicyAudit)


def is_compared(spec: TaskSpec) -> bool:
    """Return whether hosts commit results of the task, which are compared with others: replicas and audited jobs."""
    return replicas_of(spec) > 0 or is_audited(spec)
