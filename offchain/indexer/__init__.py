"""The chain's history in a database: every event of every final block once, and what they add up to."""
