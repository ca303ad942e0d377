"""`python -m sqlrag_dspy.cli`: the `sqlrag` command where its script is not on the path."""

from __future__ import annotations

import sys

from sqlrag_dspy.cli import script

if __name__ == "__main__":
    sys.exit(script())
