"""One file for each reason why a host may not take a pod, whatever is free there. `rules.py` has their order."""
