"""Simulator: compares placement policies and replays traces with the decisions of the scheduler."""
