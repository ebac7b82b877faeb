"""Implicit methods of fixed step as `simulate` runs them: on the unsolved equations, and resumed bit for bit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from symbody.flow.flow import Flow
from symbody.integrate.implicit import ImplicitFixed
from symbody.integrate.implicit_step import Residual
from symbody.memory import memory_of


def balance_of(flow: Flow) -> Residual | None:
    """The Flow's equations of motion in their unsolved form, made once: programs are kept by it."""
    balance = flow.balance
    if balance is None:
        return None
    explicit = tuple(flow.prescribed.get("qd", ()))
    return memory_of(flow).get("balance", (), lambda: Residual(balance, explicit=explicit))


class Stepped(ImplicitFixed):
    """What the method remembers at the end of its last run can be taken out and put back."""

    def __init__(self, flow: Flow, *arguments: Any, **options: Any) -> None:
        super().__init__(flow, *arguments, residual=balance_of(flow), **options)

    def memory(self) -> dict[str, np.ndarray]:
        """What the next step depends on besides time and state."""
        ends = self.march.ends  # type: ignore[attr-defined]
        return dict(zip(("t", "state", "memory"), map(np.array, ends[0]))) if ends else {}

    def recall(self, memory: Mapping[str, np.ndarray]) -> None:
        """Back to where `memory` was taken; {} forgets, as after a jump."""
        found = (np.array(memory["t"]), np.array(memory["state"]), np.array(memory["memory"])) if memory else None
        self.march.ends = [] if found is None else [found]  # type: ignore[attr-defined]
