"""The local network of scripts/up: one node, the workers, one agent, and a Docker engine.

Only the demo image needs more than the standard library: the supervisor stays small, and works through child processes.
"""
