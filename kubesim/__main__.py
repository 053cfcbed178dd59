"""`python -m kubesim` is `kubesim`."""

import sys

from kubesim.cli.main import main

sys.exit(main())
