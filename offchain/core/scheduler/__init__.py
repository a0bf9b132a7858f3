"""The scheduler's decisions: queues, reservations, preemption, migration and host health. See docs/scheduling.md."""
