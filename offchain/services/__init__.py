"""Workers: shells that feed what the chain says to pure decisions, and carry the decisions out."""
