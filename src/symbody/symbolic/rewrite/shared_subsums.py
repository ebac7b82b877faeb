"""Sub-sums of two terms that several sums contain with different cofactors, g (a + b) and h (a + b), up to sign.

The cofactors hide them: in the expanded double cross product the kernel b1 c2 - b2 c1 stands in one sum as
a2 b1 c2 - a2 b2 c1 and in another as a1 b2 c1 - a1 b1 c2 (medusa 4.1). Brayton and McMullen's kernel extraction, for
kernels of two terms; larger ones grow from these.
"""

from __future__ import annotations

from collections import Counter

from symbody.symbolic.rewrite.factor import factor
from symbody.symbolic.rewrite.flatten import flatten
from symbody.symbolic.rewrite.moves import open_products
from symbody.symbolic.rewrite.network import PRODUCT, SETUP, SUM, Network
from symbody.symbolic.rewrite.pairs import share_pairs

WIDEST = 40  # terms of one sum among which kernels are looked for
ROUNDS = 6

Kernel = tuple[tuple[int, ...], tuple[int, ...], int]  # factors of one term, of the other, relative sign
Place = tuple[int, int, int, tuple[int, ...]]  # sum, its two terms, cofactor


def extract_kernels(net: Network) -> None:
    """Share kernels; also from products opened everywhere, since a shared product hides the terms of a kernel."""
    mark, before = net.mark(), net.total
    for v in net.order():
        if net.kind[v] == SUM:
            open_products(net, v)
    net.clean()
    extract_greedily(net)
    factor(net)
    flatten(net)
    share_pairs(net)
    if net.total >= before:
        net.undo(mark)
        extract_greedily(net)


def extract_greedily(net: Network) -> None:
    """Make the kernels with the greatest saving shared values, while that lowers the cost."""
    for _ in range(ROUNDS):
        before = net.total
        found = _find(net)
        ranked = sorted(
            ((-_gain(net, kernel, places), kernel) for kernel, places in found.items() if len(places) > 1),
        )
        for gain, kernel in ranked:
            if gain >= 0:
                break
            _extract(net, kernel, found[kernel])
        if net.total >= before:
            return


def _find(net: Network) -> dict[Kernel, list[Place]]:
    """All kernels, with the places where they stand."""
    found: dict[Kernel, list[Place]] = {}
    for v in net.order():
        if net.kind[v] != SUM:
            continue
        terms = [r for r in net.body[v] if net.kind[abs(r)] == PRODUCT][:WIDEST]
        if len(terms) < 2:
            continue
        holders: dict[int, list[int]] = {}
        for i, r in enumerate(terms):
            for f in dict.fromkeys(net.body[abs(r)]):
                holders.setdefault(f, []).append(i)
        pairs: dict[tuple[int, int], None] = {}
        for where in holders.values():
            for n, i in enumerate(where):
                for j in where[n + 1 :]:
                    pairs[i, j] = None
        for i, j in pairs:
            made = _kernel(net, terms[i], terms[j])
            if made is not None:
                kernel, cofactor = made
                found.setdefault(kernel, []).append((v, terms[i], terms[j], cofactor))
    return found


def _kernel(net: Network, r: int, s: int) -> tuple[Kernel, tuple[int, ...]] | None:
    """The kernel of two terms, and their common cofactor."""
    a, b = Counter(net.body[abs(r)]), Counter(net.body[abs(s)])
    common = a & b
    first = tuple(sorted((a - common).elements()))
    second = tuple(sorted((b - common).elements()))
    if not first or not second:
        return None
    if first > second:
        first, second = second, first
    return (first, second, 1 if (r > 0) == (s > 0) else -1), tuple(sorted(common.elements()))


def _gain(net: Network, kernel: Kernel, places: list[Place]) -> int:
    size = len(kernel[0]) + len(kernel[1])
    gain = 1 - size
    for _, r, s, cofactor in places:
        kept = sum(len(net.body[abs(t)]) - 1 for t in (r, s) if net.refs[abs(t)] > 1)
        gain += size + len(cofactor) - 1 - kept
    if all(net.kind[f] == SETUP for f in (*kernel[0], *kernel[1])):
        gain += size - 1
    return gain


def _extract(net: Network, kernel: Kernel, places: list[Place]) -> None:
    """Write all places of a kernel with one shared sum; undone if that does not pay."""
    valid: list[Place] = []
    used: set[tuple[int, int]] = set()
    for place in places:
        v, r, s, _ = place
        if net.kind[v] == SUM and r in net.body[v] and s in net.body[v] and (v, r) not in used and (v, s) not in used:
            if _kernel(net, r, s) == (kernel, place[3]):
                valid.append(place)
                used.update([(v, r), (v, s)])
    if len(valid) < 2:
        return
    mark, before = net.mark(), net.total
    first, second, sign = kernel
    value = net.sum_of([net.product_of(first), sign * net.product_of(second)])
    for v, r, s, cofactor in valid:
        if net.kind[v] != SUM or r not in net.body[v] or s not in net.body[v]:
            continue
        a = Counter(net.body[abs(r)])
        a.subtract(cofactor)
        lead = r if tuple(sorted(a.elements())) == first else s  # the term that holds the first part of the kernel
        made = net.product_of([*cofactor, value])
        net.redefine_sum(v, [*[t for t in net.body[v] if t != r and t != s], made if lead > 0 else -made])
    net.clean()
    if net.total >= before:
        net.undo(mark)
