"""The chain's hosts as columns, and which of them may take a pod: the rule of core/fit.py for all hosts at once."""
