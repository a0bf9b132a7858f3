"""Decisions about disputes: what the chain accepts of whom, judgements by execution, and a juror's duties."""
