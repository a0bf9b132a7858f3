"""The fault run: a whole network under load while its processes are killed at random, and its books afterwards."""
