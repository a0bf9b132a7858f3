"""The program that computes the proof of a GPU challenge. It runs in a container with numpy and, for GPUs, cupy only."""
