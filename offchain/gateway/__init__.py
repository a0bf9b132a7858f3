"""The gateway: relays connections to hosts that cannot be dialled."""
