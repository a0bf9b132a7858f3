"""A shortened day of a busy network: a worker with many past acts, many live tasks and a stream of new ones."""
