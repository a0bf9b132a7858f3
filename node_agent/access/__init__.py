"""The way into pods: programs, connections, files. What a driver has to offer for it is in `ports`."""
