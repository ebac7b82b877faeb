"""Other programs are optional: they are imported when a bridge is used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from symbody.basics.errors import SymbodyError

TITLES = {"sympy": "SymPy", "casadi": "CasADi", "fmpy": "FMPy"}
EXTRAS = {"fmpy": "fmu"}


def peer(module: str) -> Any:
    """The module of another program, or an error that says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise SymbodyError(
            f"{TITLES.get(module, module)} is needed here and is not installed. "
            f"Run: pip install symbody[{EXTRAS.get(module, 'peers')}]"
        ) from error
