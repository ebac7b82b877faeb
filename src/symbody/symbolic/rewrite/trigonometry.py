"""Trigonometry in sums: c^2 and s^2 with a common cofactor, and the addition theorems, also through shared products."""

from __future__ import annotations

from symbody.symbolic.rewrite.moves import all_factors
from symbody.symbolic.rewrite.network import CALL, PRODUCT, SETUP, SUM, Network

Rest = tuple[int, ...]
Factors = list[tuple[int, list[int]]]  # terms of a sum, with their factors
Term = tuple[int, int, int]  # signed term, its function of x, its function of y


def simplify_trigonometry(net: Network) -> None:
    """c^2 u + s^2 u -> u, a c^2 + b s^2 -> b + (a - b) c^2, s_x c_y + c_x s_y -> s_(x+y), where the cost falls."""
    for v in net.order():
        if net.kind[v] == SUM:
            use_identities(net, v)


def use_identities(net: Network, v: int) -> bool:
    """Apply what pays to the sum v; whether anything did."""
    changed = False
    while net.kind[v] == SUM:
        terms = _factored(net, v)
        if not any(_is_trig(net, f) for _, factors in terms for f in factors):
            break
        if not _pythagoras(net, v, terms) and not _addition_theorem(net, v, terms):
            break
        changed = True
    return changed


def _factored(net: Network, v: int) -> Factors:
    """Terms of v with their factors, products among these opened; what is no product is its own factor."""
    out = []
    for r in net.body[v]:
        c = r if r > 0 else -r
        out.append((r, all_factors(net, c, 2) if net.kind[c] == PRODUCT else [c]))
    return out


def _is_trig(net: Network, f: int) -> bool:
    if net.kind[f] != CALL:
        return False
    like = net.like[f]
    return like is not None and (like.op == "sin" or like.op == "cos")


def _is_sine(net: Network, f: int) -> bool:
    return net.like[f].op == "sin"  # type: ignore[union-attr]


def _twin(net: Network, f: int) -> int:
    """The cosine of a sine and the other way round, if the network has it; else 0."""
    other = "cos" if _is_sine(net, f) else "sin"
    return net.find_call(other, net.body[f])


# -- c^2 + s^2 = 1


def _pythagoras(net: Network, v: int, terms: Factors) -> bool:
    """k0 X + k1 c^2 X + k2 s^2 X, with setup values k: write it with c^2 only, or with s^2 only, if that is cheaper."""
    groups: dict[tuple[Rest, int], dict[int, int]] = {}
    for r, factors in terms:
        if len(set(factors)) == len(factors):
            continue
        rest = [f for f in factors if net.kind[f] != SETUP]
        for f in dict.fromkeys(rest):
            if rest.count(f) >= 2 and _is_trig(net, f):
                left = list(rest)
                left.remove(f)
                left.remove(f)
                angle = net.body[f][0]
                groups.setdefault((tuple(sorted(left)), angle), {})[f] = r
    if not groups:
        return False
    plain: dict[Rest, int] = {}
    for r, factors in terms:
        plain.setdefault(tuple(sorted([f for f in factors if net.kind[f] != SETUP])), r)
    for (cofactor, _), squares in groups.items():
        if len(squares) == 2 or cofactor in plain or not cofactor:
            if _rewrite_squares(net, v, cofactor, squares, plain.get(cofactor, 0)):
                return True
    return False


def _weight_of(net: Network, r: int) -> int:
    c = abs(r)
    if net.kind[c] == SETUP:
        return r
    factors = all_factors(net, c, 2) if net.kind[c] == PRODUCT else [c]
    fixed = [f for f in factors if net.kind[f] == SETUP]
    weight = net.product_of(fixed) if fixed else net.setup(net.graph.one)
    return weight if r > 0 else -weight


def _rewrite_squares(net: Network, v: int, rest: Rest, squares: dict[int, int], plain: int) -> bool:
    if not rest and not plain:  # the cofactor is a number: the setup term of the sum
        plain = next((r for r in net.body[v] if net.kind[abs(r)] == SETUP), 0)
    taken = {*squares.values(), plain}
    others = [r for r in net.body[v] if r not in taken]
    weights = {f: _weight_of(net, r) for f, r in squares.items()}
    base = [_weight_of(net, plain)] if plain else []
    some = next(iter(squares))
    cosine, sine = (_twin(net, some), some) if _is_sine(net, some) else (some, _twin(net, some))
    for keep, drop in ((cosine, sine), (sine, cosine)):
        if not keep or drop not in weights:
            continue
        mark, before = net.mark(), net.total
        kept = [weights[keep]] if keep in weights else []
        first = net.product_of([net.sum_of([*base, weights[drop]]), *rest])
        second = net.product_of([net.sum_of([*kept, -weights[drop]]), keep, keep, *rest])
        net.redefine_sum(v, [*others, first, second])
        net.clean()
        if net.total < before:
            return True
        net.undo(mark)
    return False


# -- addition theorems


def _addition_theorem(net: Network, v: int, terms: Factors) -> bool:
    """k X s_x c_y + k X c_x s_y -> k X s_(x+y), and the other three; X may be any product."""
    seen: dict[tuple[Rest, int, int], list[Term]] = {}
    for r, factors in terms:
        trigs = [f for f in dict.fromkeys(factors) if _is_trig(net, f)]
        for i, f in enumerate(trigs):
            for g in trigs[i + 1 :]:
                x, y = net.body[f][0], net.body[g][0]
                if x == y:
                    continue
                a, b = (f, g) if x < y else (g, f)
                rest = _cofactor(net, factors, f, g)
                key = (rest, net.body[a][0], net.body[b][0])
                for r2, a2, b2 in seen.get(key, ()):
                    if r2 != r and _is_sine(net, a2) != _is_sine(net, a) and _is_sine(net, b2) != _is_sine(net, b):
                        if _rewrite_angles(net, v, rest, (r, a, b), (r2, a2, b2)):
                            return True
                seen.setdefault(key, []).append((r, a, b))
    return False


def _cofactor(net: Network, factors: list[int], f: int, g: int) -> Rest:
    """The factors without f and g, setup factors as one; they are never negative."""
    rest = sorted([h for h in factors if net.kind[h] != SETUP])
    rest.remove(f)
    rest.remove(g)
    fixed = [h for h in factors if net.kind[h] == SETUP]
    return (*fixed, *rest) if len(fixed) < 2 else (net.product_of(fixed), *rest)


def _rewrite_angles(net: Network, v: int, rest: Rest, first: Term, second: Term) -> bool:
    """The two terms as one. One of them holds sin x, the other cos x, and they differ in the function of y too."""
    if _is_sine(net, second[1]):
        first, second = second, first
    (r1, a1, b1), (r2, a2, _) = first, second  # now a1 is sin x, and a2 is cos x
    x, y = net.body[a1][0], net.body[b1][0]
    equal = (r1 > 0) == (r2 > 0)
    if _is_sine(net, b1):  # sin x sin y and cos x cos y: cos(x -+ y), with the sign of cos cos
        name, angle, sign = "cos", (x, -y) if equal else (x, y), 1 if r2 > 0 else -1
    else:  # sin x cos y and cos x sin y
        name, angle, sign = "sin", (x, y) if equal else (x, -y), 1 if r1 > 0 else -1
    like = net.like[a1 if name == "sin" else a2]
    mark, before, trig = net.mark(), net.total, net.trig
    made = net.product_of([*rest, net.call_of(like, (_angle(net, angle),))])  # type: ignore[arg-type]
    taken = {abs(r1), abs(r2)}
    net.redefine_sum(v, [*[r for r in net.body[v] if abs(r) not in taken], sign * made])
    net.clean()
    gain = before - net.total + net.call_weight * (trig - net.trig)
    if gain > 0 or (gain == 0 and net.trig < trig):
        return True
    net.undo(mark)
    return False


def _angle(net: Network, parts: tuple[int, int]) -> int:
    """The sum of two angles, as the sum of all their terms if the network has that already."""
    opened: list[int] = []
    for r in parts:
        inner = net.body[abs(r)] if net.kind[abs(r)] == SUM else (abs(r),)
        opened.extend(inner if r > 0 else [-t for t in inner])
    body = net.normal_sum(opened)
    if len(body) == 1 or net.find_sum(body):
        return net.sum_of(opened)
    return net.sum_of(parts)
