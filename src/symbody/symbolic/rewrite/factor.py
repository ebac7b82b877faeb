"""Common factors of sums: f a + f b -> f (a + b), the most profitable factor of each sum first."""

from __future__ import annotations

from collections.abc import Callable

from symbody.symbolic.rewrite.network import PRODUCT, SETUP, SUM, Network

Pick = Callable[[], float]  # breaks ties between equal gains in a random search


def factor(net: Network) -> None:
    """Take common factors out of every sum while that saves operations."""
    for v in net.order():
        if net.kind[v] == SUM:
            factor_sum(net, v)


def factor_sum(net: Network, v: int, pick: Pick | None = None) -> bool:
    """Take common factors out of the sum v, the greatest saving first; whether there was one."""
    refused: set[int] = set()
    changed = False
    while net.kind[v] == SUM:
        best, best_key = 0, (0, 0.0)
        for f, terms in shared_factors(net, v).items():
            if f in refused:
                continue
            gain = saving(net, f, terms)
            if gain > 0:
                key = (gain, pick() if pick else 0.0)
                if key > best_key or (key == best_key and f < best):
                    best, best_key = f, key
        if not best:
            return changed
        mark, before = net.mark(), net.total
        take_out(net, v, best)
        net.clean()
        if net.total < before:
            changed = True
        else:
            net.undo(mark)
            refused.add(best)
    return changed


def shared_factors(net: Network, v: int) -> dict[int, list[int]]:
    """factor -> the terms of the sum v that it divides, two or more. A term that is no product is its own factor."""
    kinds, bodies = net.kind, net.body
    every: list[int] = []
    for r in bodies[v]:
        c = r if r > 0 else -r
        if kinds[c] == PRODUCT:
            every += bodies[c]
        else:
            every.append(c)
    if len(set(every)) == len(every):  # the usual case: no factor stands twice
        return {}
    found: dict[int, list[int]] = {}
    for r in bodies[v]:
        c = r if r > 0 else -r
        k = kinds[c]
        if k == PRODUCT:
            last = 0
            for f in bodies[c]:
                if f != last:
                    last = f
                    if f in found:
                        found[f].append(r)
                    else:
                        found[f] = [r]
        elif k != SETUP:
            if c in found:
                found[c].append(r)
            else:
                found[c] = [r]
    return {f: terms for f, terms in found.items() if len(terms) > 1}


def saving(net: Network, f: int, terms: list[int]) -> int:
    """Operations saved by f * (sum of the cofactors of terms); powers shared with other products are left out."""
    gain = -1
    fixed = 0
    cofactors: list[int] | None = []
    for r in terms:
        c = r if r > 0 else -r
        if c == f:
            fixed += 1
            cofactor = net.setup(net.graph.one)
        else:
            body = net.body[c]
            rest = list(body)
            rest.remove(f)
            if net.refs[c] == 1:
                gain += 1
            elif len(rest) > 1 and not net.find_product(tuple(rest)):
                gain -= len(rest) - 1
            if len(rest) == 1:
                cofactor = rest[0]
                fixed += net.kind[cofactor] == SETUP
            else:
                cofactor = net.find_product(tuple(rest))
        if cofactor and cofactors is not None:
            cofactors.append(cofactor if r > 0 else -cofactor)
        else:
            cofactors = None
    if fixed > 1:
        gain += fixed - 1  # setup cofactors are added in the setup run
    if cofactors is not None and gain > -len(terms):
        there = net.existing_sum(cofactors)
        if there:
            gain += len(net.body[abs(there)]) - 1
    return gain


def take_out(net: Network, v: int, f: int) -> None:
    """Rewrite the sum v as f * (cofactors) + the other terms."""
    cofactors: list[int] = []
    others: list[int] = []
    for r in net.body[v]:
        c = r if r > 0 else -r
        if c == f:
            one = net.setup(net.graph.one)
            cofactors.append(one if r > 0 else -one)
        elif net.kind[c] == PRODUCT and f in net.body[c]:
            rest = list(net.body[c])
            rest.remove(f)
            made = net.product_of(rest)
            cofactors.append(made if r > 0 else -made)
        else:
            others.append(r)
    inner = net.sum_of(cofactors)
    inside = [-inner] if inner < 0 else [inner]
    # a cofactor that is itself a product joins f
    if net.kind[inside[0]] == PRODUCT and net.refs[inside[0]] == 0:
        inside = list(net.body[inside[0]])
    made = net.product_of([f, *inside])
    others.append(made if inner > 0 else -made)
    net.redefine_sum(v, others)
