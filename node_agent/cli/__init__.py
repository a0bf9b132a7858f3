"""The agent's commands."""
