"""External functions as native code calls them: a table of addresses, with callbacks for those written in Python."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from typing import Any

from symbody.basics.errors import CompileError, NameLookupError, nearest
from symbody.symbolic.expr.external import External

_DOUBLES = ctypes.POINTER(ctypes.c_double)
_CALLBACK = ctypes.CFUNCTYPE(None, _DOUBLES, _DOUBLES)
# An exception cannot pass through native code: a callback leaves it here, in the thread that runs the code.
_pending = threading.local()


class ExternalTable:
    """Addresses in the order of the Program; keeps the callbacks alive."""

    def __init__(self, externals: Sequence[External]) -> None:
        self.externals = tuple(externals)
        self.callbacks: list[Any] = []
        self.table = (ctypes.c_void_p * max(len(externals), 1))()
        self.calls_python = False
        for i, e in enumerate(externals):
            self.table[i] = e.address if e.address is not None else self._callback(e)

    @property
    def address(self) -> int:
        return ctypes.addressof(self.table)

    def _callback(self, external: External) -> int | None:
        if external.function is None:
            raise CompileError(f"External '{external.name}' has neither a function nor an address to call.")
        function, arity, results, name = external.function, external.arity, external.results, external.name

        def call(given: Any, out: Any) -> None:
            try:
                value = function(*given[:arity])
                numbers = [float(value)] if results == 1 and _is_number(value) else [float(x) for x in value]
                if len(numbers) != results:
                    raise CompileError(f"External '{name}' returned {len(numbers)} numbers; expected {results}.")
            except BaseException as error:  # re-raised by `raise_pending`
                if getattr(_pending, "error", None) is None:
                    _pending.error = error
                numbers = [float("nan")] * results
            for k, x in enumerate(numbers):
                out[k] = x

        self.calls_python = True
        self.callbacks.append(_CALLBACK(call))
        return ctypes.cast(self.callbacks[-1], ctypes.c_void_p).value


def _is_number(value: Any) -> bool:
    return getattr(value, "ndim", None) == 0 or not hasattr(value, "__len__")


def raise_pending() -> None:
    """Raise what a callback of this thread left behind."""
    error = getattr(_pending, "error", None)
    if error is not None:
        _pending.error = None
        raise error


def matched(needed: Sequence[tuple[str, int, int, int]], given: Sequence[External]) -> list[External]:
    """The externals that code was compiled for (name, arity, results, place), by place among those given: several may
    have one name."""
    found = []
    for name, arity, results, place in needed:
        e = given[place] if place < len(given) else None
        if e is None or e.name != name:
            raise NameLookupError(f"External '{name}' was not given. {nearest(name, [e.name for e in given])}")
        if (e.arity, e.results) != (arity, results):
            raise CompileError(
                f"External '{name}' takes {e.arity} and gives {e.results} numbers; "
                f"the code was made for {arity} and {results}."
            )
        found.append(e)
    return found
