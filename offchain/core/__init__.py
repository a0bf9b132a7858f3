"""Decisions: pure functions over frozen values. No IO, no asyncio, no clock, no randomness."""
