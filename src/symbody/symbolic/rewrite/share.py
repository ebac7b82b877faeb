"""Share the common part of two sums or two products, as large as it is. Works on one vertex, for local changes."""

from __future__ import annotations

from collections.abc import Callable

from symbody.symbolic.rewrite.network import PRODUCT, SETUP, SUM, Network

CROWDED = 24  # a part with more users than this does not tell which of them resemble each other


def share_powers(net: Network) -> None:
    """x^3 y -> x (x^2 y) where x^2 y exists, and a + 2 b -> (a + b) + b where a + b exists."""
    for v in net.order():
        if net.kind[v] == PRODUCT and len(set(net.body[v])) != len(net.body[v]):
            share_common_part(net, v)
        elif net.kind[v] == SUM:
            share_doubles(net, v)


def share_common_part(net: Network, v: int, pick: Callable[[], float] | None = None) -> bool:
    """Let v share parts with other sums (up to sign) or products while that saves operations; whether it did."""
    changed = False
    refused: set[int] = set()
    while net.kind[v] in (SUM, PRODUCT):
        best, best_key, part = 0, (1, 0.0), ()  # type: int, tuple[int, float], tuple[int, ...]
        for other in _alike(net, v):
            if other in refused:
                continue
            common = _common(net, v, other)
            key = (len(common), pick() if pick else 0.0)
            if key > best_key or (key == best_key and best and other < best):
                best, best_key, part = other, key, common
        if not best or len(part) < 2:
            return changed
        mark, before = net.mark(), net.total
        _share(net, v, best, part)
        net.clean()
        if net.total < before:
            changed = True
        else:
            net.undo(mark)
            refused.add(best)
            if len(refused) > 3:
                return changed
    return changed


def share_doubles(net: Network, v: int) -> bool:
    """Write the sum v with a sum that it holds once a term 2 t is taken as t + t; whether that paid."""
    kinds, bodies, refs = net.kind, net.body, net.refs
    for r in bodies[v]:
        c = r if r > 0 else -r
        if kinds[c] != PRODUCT or refs[c] != 1 or kinds[bodies[c][0]] != SETUP or net.coefficient(c) != 2:
            continue
        mark, before = net.mark(), net.total
        half = net.without_coefficient(c)
        terms = [t for t in net.body[v] if t != r]
        double = half if r > 0 else -half
        for p in list(net.parents[abs(half)]):
            if net.kind[p] != SUM or p == v:
                continue
            held = net.body[p] if double in net.body[p] else tuple([-t for t in net.body[p]])
            if not all(t == double or t in terms for t in held):
                continue
            rest = [t for t in terms if t not in held]
            net.redefine_sum(v, [*rest, double, p if held is net.body[p] else -p])
            net.clean()
            if net.total < before:
                return True
            break
        net.undo(mark)
    return False


def _alike(net: Network, v: int) -> list[int]:
    """Other vertices of the same kind that hold at least two parts of v."""
    kinds, all_parents = net.kind, net.parents
    kind = kinds[v]
    crowds = []
    last = 0
    for r in net.body[v]:
        if r != last:  # powers stand together
            last = r
            parents = all_parents[r if r > 0 else -r]
            if 1 < len(parents) <= CROWDED:
                crowds.append(parents)
    if len(crowds) < 2:
        return []
    seen = set(crowds[0])
    twice: dict[int, None] = {}
    for parents in crowds[1:]:
        twice.update(dict.fromkeys([p for p in parents if p in seen]))
        seen.update(parents)
    twice.pop(v, None)
    return [p for p in twice if kinds[p] == kind]


def _common(net: Network, v: int, other: int) -> tuple[int, ...]:
    """Largest common part, with the signs it has in v."""
    mine, theirs = net.body[v], net.body[other]
    if net.kind[v] == SUM:
        same = [r for r in mine if r in theirs]
        opposite = [r for r in mine if -r in theirs]
        return tuple(same if len(same) >= len(opposite) else opposite)
    rest = list(theirs)
    out = []
    for f in mine:
        if f in rest:
            rest.remove(f)
            out.append(f)
    return tuple(out)


def _share(net: Network, v: int, other: int, part: tuple[int, ...]) -> None:
    if net.kind[v] == SUM:
        made = net.sum_of(part)
        for w in (other, v):
            if w != abs(made) and net.kind[w] == SUM:
                body = net.body[w]
                sign = 1 if part[0] in body else -1
                taken = {sign * r for r in part}
                net.redefine_sum(w, [*[r for r in body if r not in taken], sign * made])
        return
    made = net.product_of(part)
    for w in (other, v):
        if w != abs(made) and net.kind[w] == PRODUCT:
            rest = list(net.body[w])
            for f in part:
                rest.remove(f)
            net.redefine_product(w, [*rest, made])
