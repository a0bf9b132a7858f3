"""The gateway: the way to hosts that nobody can dial."""
