"""When a verdict fails: the polynomial of the parameters that must vanish for it, factored.

A full rank is a minor that is not zero; it can be lost only where that minor vanishes. Parameters that enter as plain
factors are found by scaling them modulo the prime, in two evaluations each; what is left is expanded and factored by
SymPy, where it depends on few parameters. Another minor may hold where this one vanishes: at a random point of each
factor's zeros the whole rank is taken, which says whether the verdict fails there. Above 12 states, and where too many
parameters are left, the verdict is modular and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from symbody.basics.errors import SymbodyError
from symbody.bondgraph.equations.state_matrices import Matrices
from symbody.bondgraph.structure.reach import ResidueEchelon, krylov
from symbody.mechanics.proof.field_tape import tape_of
from symbody.mechanics.proof.modular import determinant, product, rank
from symbody.mechanics.proof.points import RandomPoint, Relations
from symbody.mechanics.proof.prime_field import P, draw
from symbody.mechanics.proof.tape_values import values_at
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols, substitute
from symbody.symbolic.system.system import System, node_array

LARGEST = 12  # states
MOST_SYMBOLS = {4: 12, 6: 8, 12: 5}  # states up to -> parameters of the part that is expanded
HIGHEST = 400  # power of a plain factor


@dataclass(frozen=True)
class Condition:
    """What a verdict hangs on.

    verdict   "rank A", "controllable", "observable"
    powers    parameter -> power with which it enters as a plain factor: it fails where that is zero (or infinite)
    factors   the other factors as texts: it fails where one of them vanishes, as was tried at a random point of each
    special   factors at whose zeros it holds in general, and may fail in special points
    open      parameters of a part that was not expanded; empty: the condition is complete
    """

    verdict: str
    powers: dict[str, int]
    factors: tuple[str, ...] = ()
    special: tuple[str, ...] = ()
    open: tuple[str, ...] = ()

    def __str__(self) -> str:
        plain = [n for n, k in self.powers.items() if k]
        parts = [f"{f} = 0" for f in self.special]
        if plain:
            parts.append(f"{plain[0] if len(plain) == 1 else 'one of ' + ', '.join(plain)} is zero or infinite")
        if self.open:
            names = ", ".join(self.open[:6]) + (" ..." if len(self.open) > 6 else "")
            return (
                f"{self.verdict}: holds at random values modulo a prime; the condition under which it fails depends "
                f"on {names} and was not expanded"
            )
        if not self.factors:
            return f"{self.verdict}: " + (f"can fail only where {' or '.join(parts)}" if parts else "always holds")
        else_ = f"; else it can fail only where {' or '.join(parts)}" if parts else ", and only there"
        return f"{self.verdict}: fails where {' or '.join(f'{f} = 0' for f in self.factors)}{else_}"


def conditions(m: Matrices, verdicts: Sequence[str]) -> list[Condition]:
    """The conditions of verdicts that hold, of up to LARGEST states: "rank A", "controllable", "observable"."""
    makers: dict[str, tuple[np.ndarray, np.ndarray]] = {"controllable": (m.A, m.B), "observable": (m.A.T, m.C.T)}
    return [_rank_condition(v, m) if v == "rank A" else _krylov_condition(v, m, *makers[v]) for v in verdicts]


def _rank_condition(verdict: str, m: Matrices) -> Condition:
    def square(v: np.ndarray) -> np.ndarray:
        return v.reshape(m.A.shape)

    return _condition(verdict, m, [*m.A.flat], square, lambda v: rank(square(v)) == len(m.A))


def _krylov_condition(verdict: str, m: Matrices, A: np.ndarray, B: np.ndarray) -> Condition:
    n, k = len(A), B.shape[1]
    nodes = [*A.flat, *B.flat]
    values = _Residues(m, nodes)
    at = values.at({})
    a, b = at[: n * n].reshape(n, n), at[n * n :].reshape(n, k)
    space, chosen = ResidueEchelon(n), list[tuple[int, int]]()
    front = [(j, 0, b[:, j]) for j in range(k)]
    while front and len(chosen) < n:  # the first columns of B, A B, ... that are independent
        after = []
        for j, power, v in front:
            if len(chosen) < n and space.add(v):
                chosen.append((j, power))
                after.append((j, power + 1, product(a, v.reshape(n, 1))[:, 0]))
        front = after

    def matrix(v: np.ndarray) -> np.ndarray:
        x, y = v[: n * n].reshape(n, n), v[n * n :].reshape(n, k)
        return np.stack([_power(x, y[:, j], p) for j, p in chosen], axis=1)

    def complete(v: np.ndarray) -> bool:
        return len(krylov(v[: n * n].reshape(n, n), v[n * n :].reshape(n, k))[0].pivots) == n

    return _condition(verdict, m, nodes, matrix, complete)


def _power(a: np.ndarray, v: np.ndarray, times: int) -> np.ndarray:
    for _ in range(times):
        v = product(a, v.reshape(-1, 1))[:, 0] if _is_modular(a) else a.dot(v)
    return v


def _is_modular(a: np.ndarray) -> bool:
    return all(isinstance(x, int) for x in a.flat)


class _Residues:
    """Residues of expressions at points of the parameters."""

    def __init__(self, m: Matrices, nodes: Sequence[Node]) -> None:
        symbols = sorted(free_symbols(nodes), key=lambda s: s.id)
        self.names = [s.data.name for s in symbols]
        self.symbols = dict(zip(self.names, symbols))
        empty = {n: node_array(s, m.graph.graph) for n, s in self.symbols.items()}
        self.tape = tape_of(System("values", {}, {"r": node_array(list(nodes), m.graph.graph)}, empty))

    def at(self, scaled: Mapping[str, int], given: Mapping[str, int] = MappingProxyType({})) -> np.ndarray:
        """Values at the random point with some parameters scaled, or given."""
        point = {(n, 0): given.get(n, draw("condition", n)) * scaled.get(n, 1) % P for n in self.names}
        return np.array(values_at(self.tape, RandomPoint("condition", Relations(), point)), dtype=object)


def _condition(
    verdict: str,
    m: Matrices,
    nodes: Sequence[Node],
    matrix: Callable[[np.ndarray], np.ndarray],
    complete: Callable[[np.ndarray], bool],
) -> Condition:
    """matrix: the minor's matrix of the nodes' values; complete: whether the verdict holds for them."""
    values = _Residues(m, nodes)
    base = determinant(matrix(values.at({})))
    if not base:
        return Condition(verdict, {}, open=tuple(values.names))
    inverse = pow(base, -1, P)
    powers: dict[str, int] = {}
    rest: list[str] = []
    for name in values.names:
        ratios = [determinant(matrix(values.at({name: k}))) * inverse % P for k in (3, 5)]
        found = _logarithm(ratios, (3, 5))
        if found is None:
            rest.append(name)
        else:
            powers[name] = found
    if not rest:
        return Condition(verdict, powers)
    if len(rest) > next(k for n, k in MOST_SYMBOLS.items() if len(m.states) <= n):
        return Condition(verdict, powers, open=tuple(rest))
    factors = _factors(nodes, matrix, values, rest)
    if factors is None:
        return Condition(verdict, powers, open=tuple(rest))
    fails = [_fails(f, values, complete) for f in factors]
    holds = tuple(str(f) for f, bad in zip(factors, fails) if not bad)
    return Condition(verdict, powers, tuple(str(f) for f, bad in zip(factors, fails) if bad), holds)


def _logarithm(ratios: Sequence[int], bases: Sequence[int]) -> int | None:
    """The k with base^k = ratio for both bases."""
    for k in range(HIGHEST):
        for sign in (1, -1) if k else (1,):
            if all(pow(b, sign * k, P) == r for b, r in zip(bases, ratios)):
                return sign * k
    return None


def _fails(factor: Any, values: _Residues, complete: Callable[[np.ndarray], bool]) -> bool:
    """Whether a verdict fails at a random point where a factor, a SymPy polynomial, vanishes.

    The point is found where the factor is linear in some parameter; a factor that is in none counts as failing.
    """
    for symbol in sorted(factor.free_symbols, key=str):
        polynomial = factor.as_poly(symbol)
        if polynomial.degree() != 1:
            continue
        slope, offset = (_residue(c, values.names) for c in polynomial.all_coeffs())
        if slope:
            root = -offset * pow(slope, -1, P) % P
            return not complete(values.at({}, {str(symbol): root}))
    return True


def _residue(coefficient: Any, names: Sequence[str]) -> int:
    """A polynomial of parameters at the random point."""
    value = coefficient.subs({s: draw("condition", str(s)) for s in coefficient.free_symbols if str(s) in names})
    top, bottom = value.as_numer_denom()
    return int(top) * pow(int(bottom), -1, P) % P


def _factors(
    nodes: Sequence[Node], matrix: Callable[[np.ndarray], np.ndarray], values: _Residues, rest: Sequence[str]
) -> list[Any] | None:
    """Factors of the part that is no product of parameters, SymPy polynomials; None without SymPy."""
    try:
        from symbody.codegen.interop.peers import peer
        from symbody.codegen.interop.sympy_bridge import to_sympy

        sympy = peer("sympy")
    except SymbodyError:
        return None
    ones = {s: s.graph.one for n, s in values.symbols.items() if n not in rest}
    flat = list(to_sympy(np.array(substitute(list(nodes), ones), dtype=object)))
    array = np.empty(len(flat), dtype=object)
    array[:] = flat
    made = sympy.Matrix(matrix(array))
    domain = made.applyfunc(sympy.together).to_DM().to_field()
    top = sympy.fraction(sympy.together(domain.domain.to_sympy(domain.det())))[0]
    _, found = sympy.factor_list(top)
    return [f for f, _ in found if not f.is_Symbol]
