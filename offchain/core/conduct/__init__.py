"""What hosts did lately, as a scheduler saw it: what failed where, who is slow, what ran where.

Kept in memory alone. After a restart it begins empty: what the chain has on record (reputation, devices out of order)
is there again at once, failures of the last hours are not.
"""
