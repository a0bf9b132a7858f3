"""The chain's history in SQLite or PostgreSQL: every event of every final block, and the tables derived from them."""
