"""The program that computes the proof of a GPU challenge. It needs numpy, and cupy for GPUs, and nothing else."""
