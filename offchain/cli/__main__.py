"""`python -m offchain.cli`."""

import sys

from offchain.cli.main import main

sys.exit(main())
