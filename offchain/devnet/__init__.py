"""The local network behind scripts/up: one node, the workers, one agent, and an engine for its containers.

Standard library only, but for the demo image: the supervisor stays small, and does its work in child processes.
"""
