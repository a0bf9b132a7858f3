"""Decisions about GPU challenges: work for a claimed device, deadline, verification, tier."""
