"""Entry point of `python -m node_agent`: the commands of `gantry agent`."""

from offchain.cli.provider.agent import main

if __name__ == "__main__":
    main()
