"""What the scheduler decides: which waiting task goes to which hosts now, and why the others wait."""
