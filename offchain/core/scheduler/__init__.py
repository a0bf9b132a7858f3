"""The scheduler: decides which pod runs on which host, and when."""
