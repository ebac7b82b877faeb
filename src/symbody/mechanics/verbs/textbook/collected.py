"""Sums of terms collected as people do it: by waves, by velocities, and their coefficients by common factors.

Waves first, since they say what moves: (m1/2 + m2)*g*l1*sin(q1) + m2*g*l2/2*sin(q1 + q2). Equal amplitudes of a sum and
a difference of angles are one product again: cos(a - b) + cos(a + b) = 2 cos(a) cos(b).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction

from symbody.mechanics.verbs.textbook.terms import Angle, Monomial, Terms, Wave, number
from symbody.symbolic.expr.node import SYMBOL, Node, Number

SAME = 1e-12  # relative difference of two numbers that are written as one
MASS = "kg"


@dataclass(frozen=True, slots=True)
class NamedSum:
    """A sum of products of parameters with a name of its own: a1, a2, ..."""

    name: str
    value: Sum


@dataclass(frozen=True, slots=True)
class Product:
    """coefficient times the factors, each with its exponent."""

    coefficient: Number
    factors: tuple[tuple[Node | Wave | Sum | NamedSum, Number], ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """Products that are added; none is zero."""

    products: tuple[Product, ...]


@dataclass(frozen=True, slots=True)
class CollectedTerm:
    """A term on its way: what it is a product of, by kinds."""

    coefficient: Number
    monomial: Monomial
    waves: tuple[tuple[Wave, int], ...] = ()


@dataclass
class Collector:
    """How terms are collected. named: sums of parameters that are written by a name."""

    named: dict[tuple[CollectedTerm, ...], NamedSum] = field(default_factory=dict)
    seen: Counter[tuple[CollectedTerm, ...]] = field(default_factory=Counter)  # sums of parameters that were written

    def collect(self, terms: Terms) -> Sum:
        """The terms of an expression as a Sum, collected in the form that is shortest."""
        plain = [CollectedTerm(v, m, () if w is None else ((w, 1),)) for (m, w), (v, _) in terms.items()]
        forms = (plain, paired(plain), paired(squared(plain)))
        trials = [Collector(self.named) for _ in forms]
        sums = [trial._grouped(form) for trial, form in zip(trials, forms)]
        best = min(range(len(forms)), key=lambda k: _length(sums[k]))
        self.seen.update(trials[best].seen)
        return sums[best]

    def _grouped(self, terms: list[CollectedTerm]) -> Sum:
        groups: dict[tuple[tuple[Wave, int], ...], list[CollectedTerm]] = {}
        for term in sorted(terms, key=lambda t: _wave_order(t.waves)):
            groups.setdefault(term.waves, []).append(replace(term, waves=()))
        return Sum(tuple(p for waves, members in groups.items() for p in self._by_velocity(members, waves)))

    def _by_velocity(self, terms: list[CollectedTerm], waves: tuple[tuple[Wave, int], ...]) -> list[Product]:
        """Coefficients of velocities and coordinates that are multiples of each other stand before one parenthesis."""
        by_motion: dict[Monomial, list[CollectedTerm]] = {}
        for term in terms:
            moving = tuple((x, e) for x, e in term.monomial if not is_parameter(x))
            rest = tuple((x, e) for x, e in term.monomial if is_parameter(x))
            by_motion.setdefault(moving, []).append(CollectedTerm(term.coefficient, rest))
        clusters: list[tuple[list[CollectedTerm], list[tuple[Number, Monomial]]]] = []
        for moving, members in sorted(by_motion.items(), key=lambda pair: [(x.id, float(e)) for x, e in pair[0]]):
            for first, shares in clusters:
                ratio = _ratio(members, first)
                # numbers alone are no common factor that anybody would look for, unless they are the same
                if ratio is not None and (abs(ratio) == 1 or any(t.monomial for t in first)):
                    shares.append((ratio, moving))
                    break
            else:
                clusters.append((members, [(1, moving)]))
        out = []
        for members, shares in clusters:
            tail: list[tuple[Node | Wave | Sum | NamedSum, Number]] = [*waves]
            sign: Number = 1
            if len(shares) == 1:
                tail += shares[0][1]
            else:
                common = _common(m for _, m in shares)
                tail += common
                if all(abs(r) == abs(shares[0][0]) for r, _ in shares) and shares[0][0] < 0:
                    sign = -1
                tail.append((Sum(tuple(Product(number(sign * r), _without(m, common)) for r, m in shares)), 1))
            head = self._parameters(members)
            out += [Product(number(sign * p.coefficient), (*p.factors, *tail)) for p in self._flat(head, bool(tail))]
        return out

    def _flat(self, head: Product | Sum, in_product: bool) -> list[Product]:
        """A sum stands by itself, or as one factor in parentheses."""
        if isinstance(head, Product):
            return [head]
        return [Product(1, ((head, 1),))] if in_product else list(head.products)

    def _parameters(self, terms: list[CollectedTerm]) -> Product | Sum:
        """A sum of products of parameters with common factors outside, masses first."""
        terms = sorted(terms, key=_parameter_order)
        if len(terms) == 1:
            return Product(terms[0].coefficient, _ordered(terms[0].monomial))
        common = _common(t.monomial for t in terms)
        first = terms[0].coefficient
        scale: Number = magnitude(first) if all(_same(magnitude(t.coefficient), magnitude(first)) for t in terms) else 1
        if first < 0:
            scale = -scale
        rest = [CollectedTerm(number(_divided(t.coefficient, scale)), _without(t.monomial, common)) for t in terms]
        inner = self._inner(rest)
        if not common and scale == 1:
            return inner if isinstance(inner, Sum) else Product(1, ((inner, 1),))
        ordered = _ordered(common)
        masses = tuple(f for f in ordered if _is_mass(f[0]))
        return Product(scale, (*masses, (inner, 1), *(f for f in ordered if not _is_mass(f[0]))))

    def _inner(self, terms: list[CollectedTerm]) -> Sum | NamedSum:
        key = tuple(terms)
        self.seen[key] += 1
        if key in self.named:
            return self.named[key]
        best, most = None, 1
        counts = Counter(x for t in terms for x, e in t.monomial if e > 0)
        for x in sorted(counts, key=lambda x: (not _is_mass(x), x.id)):
            if counts[x] > most and counts[x] < len(terms):
                best, most = x, counts[x]
        if best is None or not _is_mass(best):
            return Sum(tuple(Product(t.coefficient, _ordered(t.monomial)) for t in terms))
        out: list[Product] = []
        left = list(terms)
        while left:  # masses in order, each before what it multiplies
            mass = next((x for x in _ordered_atoms(left) if _is_mass(x)), None)
            with_it = [t for t in left if mass is not None and any(x is mass for x, _ in t.monomial)]
            if len(with_it) < 2:
                picked = with_it or left
                out += [Product(t.coefficient, _ordered(t.monomial)) for t in picked]
            else:
                picked = with_it
                made = self._parameters(picked)
                out += [made] if isinstance(made, Product) else list(made.products)
            left = [t for t in left if t not in picked]
        return Sum(tuple(out))


# -- waves of sums and differences as products


def paired(terms: list[CollectedTerm]) -> list[CollectedTerm]:
    """Terms of equal amplitude whose angles are a sum and a difference, each pair as one product."""
    left, out = list(terms), []
    while left:
        term = left.pop(0)
        for other in left:
            product = _product(term, other)
            if product is not None:
                left.remove(other)
                out.append(product)
                break
        else:
            out.append(term)
    return out


def squared(terms: list[CollectedTerm]) -> list[CollectedTerm]:
    """With cos(2 x) written as 2 cos(x)^2 - 1."""
    numbers: dict[tuple[Monomial, tuple[tuple[Wave, int], ...]], Number] = {}
    for term in terms:
        kind, angle = _kind(term)
        half = _halved(angle, (), 1) if kind == "cos" and angle else None
        parts = [(term.coefficient, term.waves)]
        if half is not None:
            parts = [(2 * term.coefficient, ((Wave("cos", half), 2),)), (-term.coefficient, ())]
        for coefficient, waves in parts:
            old = numbers.get((term.monomial, waves), 0)
            numbers[term.monomial, waves] = 0 if _same(-coefficient, old) else number(old + coefficient)
    return [CollectedTerm(value, monomial, waves) for (monomial, waves), value in numbers.items() if value]


def _length(value: Sum) -> int:
    """About how long it is to write."""
    size = 0
    for product in value.products:
        size += 3 + (0 if abs(product.coefficient) == 1 else 2)
        for base, e in product.factors:
            size += 2 + (e != 1)
            if isinstance(base, Wave):
                size += 5 + 3 * len(base.angle)
            elif isinstance(base, Sum):
                size += _length(base)
    return size


def _product(a: CollectedTerm, b: CollectedTerm) -> CollectedTerm | None:
    if a.monomial != b.monomial or not _same(magnitude(a.coefficient), magnitude(b.coefficient)):
        return None
    if any(len(t.waves) > 1 or any(e != 1 for _, e in t.waves) for t in (a, b)):
        return None
    (kind1, angle1), (kind2, angle2) = _kind(a), _kind(b)
    if kind1 != kind2 or not (angle1 or angle2):
        return None
    x, y = _halved(angle1, angle2, 1), _halved(angle1, angle2, -1)
    if x is None or y is None:
        return None
    same = (a.coefficient > 0) == (b.coefficient > 0)
    if kind1 == "cos":  # cos s + cos d = 2 cos x cos y; cos s - cos d = -2 sin x sin y
        kinds, sign = (("cos", "cos"), 1) if same else (("sin", "sin"), -1)
    else:  # sin s + sin d = 2 sin x cos y; sin s - sin d = 2 cos x sin y
        kinds, sign = (("sin", "cos"), 1) if same else (("cos", "sin"), 1)
    waves: list[Wave] = []
    for kind, angle in zip(kinds, (x, y)):
        if angle and angle[0][1] < 0:
            sign, angle = (-sign if kind == "sin" else sign), tuple((s, -f) for s, f in angle)
        waves.append(Wave(kind, angle))
    powers = Counter(waves)
    ordered = tuple(sorted(powers.items(), key=lambda pair: _angle_order(pair[0])))
    return CollectedTerm(number(2 * sign * a.coefficient), a.monomial, ordered)


def _kind(term: CollectedTerm) -> tuple[str, Angle]:
    return ("cos", ()) if not term.waves else (term.waves[0][0].kind, term.waves[0][0].angle)


def _halved(a: Angle, b: Angle, sign: int) -> Angle | None:
    """(a + sign b) / 2 where all its factors are whole, and it is not zero."""
    out = dict(a)
    for s, f in b:
        out[s] = out.get(s, 0) + sign * f
    halves = {s: number(Fraction(f) / 2) for s, f in out.items() if f and not isinstance(f, float)}
    if len(halves) < sum(1 for f in out.values() if f) or not halves:
        return None
    if any(not isinstance(f, int) for f in halves.values()):
        return None
    return tuple(sorted(halves.items(), key=lambda pair: pair[0].id))


# -- order and common factors


def is_parameter(node: Node) -> bool:
    """Whether it keeps its value during motion: a parameter, or a function of parameters."""
    return not node.flags


def _is_mass(x: Node) -> bool:
    return x.op is SYMBOL and x.data.unit == MASS


def _ordered(monomial: Monomial) -> tuple[tuple[Node, Number], ...]:
    """Masses first, then by the order in which the model knows them."""
    return tuple(sorted(monomial, key=lambda f: (not _is_mass(f[0]), f[0].op is not SYMBOL, f[0].id)))


def _ordered_atoms(terms: list[CollectedTerm]) -> list[Node]:
    return sorted({x for t in terms for x, _ in t.monomial}, key=lambda x: x.id)


def _parameter_order(term: CollectedTerm) -> tuple[object, ...]:
    return tuple((not _is_mass(x), x.id, -float(e)) for x, e in _ordered(term.monomial)), -float(term.coefficient)


def _angle_order(wave: Wave) -> tuple[object, ...]:
    return len(wave.angle), tuple((s.id, abs(float(f))) for s, f in wave.angle), wave.kind


def _wave_order(waves: tuple[tuple[Wave, int], ...]) -> tuple[object, ...]:
    return len(waves), tuple(_angle_order(w) for w, _ in waves)


def _common(monomials: Iterable[Monomial]) -> Monomial:
    each = [dict(m) for m in monomials]
    out = []
    for x, e in each[0].items():
        least = min((m.get(x, 0) for m in each), key=lambda v: float(v))
        if all(m.get(x, 0) for m in each) and (least > 0) == (e > 0) and least > 0:
            out.append((x, least))
    return tuple(out)


def _without(monomial: Monomial, common: Monomial) -> Monomial:
    less = dict(common)
    return tuple((x, number(e - less.get(x, 0))) for x, e in monomial if e != less.get(x, 0))


def _ratio(terms: list[CollectedTerm], of: list[CollectedTerm]) -> Number | None:
    """r with terms = r * of, for all of them."""
    if len(terms) != len(of):
        return None
    values = {t.monomial: t.coefficient for t in of}
    ratio: Number | None = None
    for t in terms:
        if t.monomial not in values:
            return None
        r = number(_divided(t.coefficient, values[t.monomial]))
        if ratio is not None and not _same(r, ratio):
            return None
        ratio = r
    return ratio


def magnitude(x: Number) -> Number:
    """|x|, exact where x is."""
    return -x if x < 0 else x


def _divided(a: Number, b: Number) -> Number:
    return a / b if isinstance(a, float) or isinstance(b, float) else Fraction(a) / Fraction(b)


def _same(a: Number, b: Number) -> bool:
    if isinstance(a, float) or isinstance(b, float):
        return abs(float(a) - float(b)) <= SAME * max(abs(float(a)), abs(float(b)))
    return a == b
