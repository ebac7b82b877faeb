"""Lets every test import the helpers that stand beside it in `tests/`, such as `programs`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
