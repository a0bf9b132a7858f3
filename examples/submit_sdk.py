"""Submits the task of a manifest with the Python SDK, and prints its result and its bill.

Once, in a clone: pip install . Then: python examples/submit_sdk.py examples/primes.yaml //Charlie
"""

import sys

import gantry


def main(manifest: str, account: str) -> None:
    """Submit, follow, fetch the result, read the bill."""
    with gantry.connect(account=account) as network:
        task = network.submit(manifest, notify=print)
        print(f"Task {task.number} is {task.state()}.")
        print(task.wait(notify=print).text)
        print(f"Paid: {task.bill()}.")


if __name__ == "__main__":
    main(*sys.argv[1:])
