"""Machines with GPUs, as far as their drivers' interfaces go."""
