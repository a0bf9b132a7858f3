"""What hosts did lately, as a scheduler saw it: what failed where, who is slow, what ran where."""
