"""How the operations of inverse dynamics grow with the number of joints of a general chain."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symbody.model.build.builder import Builder
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.lower.optimize import count_system

SIZES = (3, 4, 5, 6, 8, 10, 12)


@dataclass(frozen=True)
class Published:
    """Operations of inverse dynamics of N revolute joints as a publication gives them: polynomials of N.

    mul, add   coefficients, highest power first
    printed    (mul, add) for N = 6 in the same publication, where its formula gives something else in one of them
    """

    name: str
    formalism: str
    mul: tuple[Fraction, ...]
    add: tuple[Fraction, ...]
    printed: tuple[int, int] | None = None

    def at(self, n: int) -> tuple[int, int]:
        """(mul, add) for n joints, by the formulas."""
        return value(self.mul, n), value(self.add, n)


def value(coefficients: tuple[Fraction, ...], n: int) -> int:
    total = Fraction(0)
    for c in coefficients:
        total = total * n + c
    return round(total)


def formula(coefficients: tuple[Fraction | int, ...]) -> str:
    """The polynomial as text: 2N^3 + N^2, 215/6 N^3."""
    out = ""
    degree = len(coefficients) - 1
    for k, c in enumerate(coefficients):
        if c == 0:
            continue
        size, power = abs(c), degree - k
        symbol = "" if power == 0 else "N" if power == 1 else f"N^{power}"
        number = "" if size == 1 and symbol else str(size)
        gap = " " if "/" in number and symbol else ""
        sign = ("-" if c < 0 else "") if not out else " - " if c < 0 else " + "
        out += f"{sign}{number}{gap}{symbol}"
    return out or "0"


def _of(name: str, formalism: str, mul: str, add: str, printed: tuple[int, int] | None = None) -> Published:
    first, second = (tuple(Fraction(c) for c in text.split()) for text in (mul, add))
    return Published(name, formalism, first, second, printed)


# MEDUSA, Tables 4.2 and 4.3; the last row: Khalil and Kleinfinger 1987. Two rows have mixed numbers in their source
# (Hollerbach 1980), such as 66 1/3 N^3. Table 4.2 multiplies their parts (22 N^3), but the counts for N = 6 are of the
# mixed numbers: all additions follow from them exactly, multiplications within 1.4 % and 0.1 %.
PUBLISHED = (
    _of(
        "Uicker 1965, Kahn 1969",
        "Lagrange",
        "65/2 1037/12 685/4 160/3 -128",
        "25 199/3 259/2 127/3 -96",
        (66271, 51548),
    ),
    _of("Raibert, Horn 1978", "Lagrange", "2 1 0 0", "1 1 2 0"),
    _of("Waters 1979", "Lagrange", "213/2 1241/2 -512", "82 514 -384", (7051, 5652)),
    _of("Hollerbach 1980, 4x4", "recursive Lagrange", "830 -592", "675 -464"),
    _of("Hollerbach 1980, 3x3", "recursive Lagrange", "412 -277", "320 -201"),
    _of("Luh, Walker, Paul 1980", "Newton-Euler", "150 -48", "131 -48"),
    _of("Dombre, Khalil 1988", "Newton-Euler", "148 -47", "101 -33"),
    _of("Hamlili 1992", "Newton-Euler", "114 -85", "88 -72"),
    _of("Khalil, Kleinfinger 1987", "Newton-Euler", "92 -127", "81 -117"),
)


def general_chain(n: int) -> Mechanism:
    """n revolute joints in space with all parameters symbolic: twist, two lengths, ten inertial parameters a link.

    Origins stand at the foot of the previous common normal, so that an offset has two components; the offset along the
    vertical first axis does not matter and is zero.
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
            b.joint(
                f"joint{i}", "revolute", parent, name, position=(d, 0, r), rotation=[[1, 0, 0], [0, c, -s], [0, s, c]]
            )
        parent = name
    return b.done()


def fit_growth(formalism: str, sizes: tuple[int, ...] = SIZES) -> dict[str, Any]:
    """mul and add of inverse dynamics as (a, b) of a N - b through the last two sizes; exact: all sizes lie on it."""
    from symbody.mechanics.verbs.dynamics import inverse_dynamics

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
