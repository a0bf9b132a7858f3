"""`python3 -m node_agent.challenge`, and the entry of the bundle that :mod:`node_agent.challenge.bundle` writes."""

import sys

from node_agent.challenge.program import ChallengeProgram, serve

if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer, ChallengeProgram())
