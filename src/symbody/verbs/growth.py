"""How the operations of inverse dynamics grow with the number of joints of a general chain."""

from __future__ import annotations

from typing import Any

from symbody.lower.optimize import count_system
from symbody.model.builder import Builder
from symbody.model.mechanism import Mechanism

SIZES = (3, 4, 5, 6, 8, 10, 12)


def general_chain(n: int) -> Mechanism:
    """n revolute joints in space with all parameters symbolic: twist, two lengths, ten inertial parameters a link.

    Origins stand at the foot of the previous common normal, so that an offset has two components
    (spec/operation_counts, P3); the offset along the vertical first axis does not matter and is zero.
    """
    b = Builder(f"general_{n}r", gravity=(0, 0, "-g"))
    b.parameter("g", unit="m/s^2")
    parent = "world"
    for i in range(1, n + 1):
        name = f"link{i}"
        inertia = [b.parameter(f"I{k}_{i}") for k in ("xx", "xy", "yy", "xz", "yz", "zz")]
        com = [b.parameter(f"c{k}_{i}") for k in "xyz"]
        b.body(name, mass=b.parameter(f"m_{i}"), com=com, inertia=inertia)
        if i == 1:
            b.joint("joint1", "revolute", parent, name)
        else:
            d = b.parameter(f"d_{i}", nonzero=True)
            r = b.parameter(f"r_{i}") if i > 2 else 0
            c, s = b.parameter(f"ca_{i}"), b.parameter(f"sa_{i}", nonzero=True)
            b.joint(f"joint{i}", "revolute", parent, name, position=(d, 0, r),
                    rotation=[[1, 0, 0], [0, c, -s], [0, s, c]])  # fmt: skip
        parent = name
    return b.done()


def fit_growth(formalism: str, sizes: tuple[int, ...] = SIZES) -> dict[str, Any]:
    """mul and add of inverse dynamics as (a, b) of a N - b through the last two sizes; exact: all sizes lie on it."""
    from symbody.verbs.dynamics import inverse_dynamics

    counts = {n: count_system(inverse_dynamics(general_chain(n), formalism=formalism)) for n in sizes}
    out: dict[str, Any] = {"sizes": {str(n): [c.mul, c.add] for n, c in counts.items()}}
    exact = True
    for kind in ("mul", "add"):
        values = {n: getattr(c, kind) for n, c in counts.items()}
        last, before = sizes[-1], sizes[-2]
        a = (values[last] - values[before]) // (last - before)
        b = a * last - values[last]
        exact = exact and all(v == a * n - b for n, v in values.items())
        out[kind] = (a, b)
    out["exact"] = exact
    return out
