"""Workers: they feed the chain's events to pure decisions, and carry the decisions out."""
