"""The HTTP API: reads of the index as REST resources, and a stream of events. It changes nothing and holds no key."""
