"""Installation of the agent: releases, updates, and the service that keeps it running."""
