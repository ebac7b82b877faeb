"""Linear models to python-control's StateSpace and back, with their names."""

from __future__ import annotations

from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError
from symbody.codegen.interop.peers import peer


def to_control(model: Any) -> Any:
    """A control.StateSpace of a linear model: anything with A, B (or B_ss), C, D, states, inputs, outputs and maybe dt.

    python-control reserves the dot, so q.elbow becomes q_elbow.
    """
    control = peer("control")
    missing = [n for n in ("A", "C", "D", "states", "inputs", "outputs") if not hasattr(model, n)]
    if missing:
        raise DefinitionError(
            f"{type(model).__name__} is no linear model: it has no {', '.join(missing)}. Linearise it first."
        )
    own = getattr(model, "state_space", model)
    if hasattr(own, "proper"):
        own.proper("python-control")
    B = model.B_ss if hasattr(model, "B_ss") else model.B
    dt = getattr(model, "dt", None)
    names = {kind: _plain(getattr(model, kind)) for kind in ("states", "inputs", "outputs")}
    # dt = 0 is continuous time there, None is undecided
    return control.StateSpace(
        model.A, B, model.C, model.D, 0 if dt is None else dt, remove_useless_states=False, **names
    )


def from_control(system: Any) -> dict[str, Any]:
    """The fields of a `symbody.studies.linear.state_space.StateSpace`: A, B, C, D, states, inputs, outputs, dt.

    Transfer functions are realised first. Discrete time without a period counts as one sample a second.
    """
    control = peer("control")
    if not isinstance(system, (control.StateSpace, control.TransferFunction)):
        raise DefinitionError(f"{type(system).__name__} is no linear model of python-control.")
    ss = control.ss(system)
    continuous = ss.dt is None or ss.dt == 0
    return {
        **{n: np.asarray(getattr(ss, n), dtype=float) for n in "ABCD"},
        "states": tuple(ss.state_labels),
        "inputs": tuple(ss.input_labels),
        "outputs": tuple(ss.output_labels),
        "dt": None if continuous else 1.0 if ss.dt is True else float(ss.dt),
    }


def _plain(names: Any) -> list[str]:
    out = [n.replace(".", "_") for n in names]
    if len(set(out)) != len(out):
        raise DefinitionError(f"two names become the same without dots: {', '.join(sorted(names))}. Rename a joint.")
    return out
