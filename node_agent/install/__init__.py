"""The agent as a service of this machine."""
