"""Moves that may pay: expand a product over a sum, open a shared sum or product in its users, open products of a sum.

A move alone usually raises the cost; what it brings shows after `settle` (robotran 3.10 d, "de-recursification").
"""

from __future__ import annotations

from itertools import product as combinations

from symbody.symbolic.rewrite.network import PRODUCT, SUM, Network

SMALL = 4  # terms of a sum that may be multiplied out
MANY = 12  # factors, and terms, that opening may make


def can_expand(net: Network, v: int) -> list[int]:
    """Factors of the product v that are small sums."""
    return [f for f in dict.fromkeys(net.body[v]) if net.kind[f] == SUM and len(net.body[f]) <= SMALL]


def expand(net: Network, v: int, f: int) -> bool:
    """Multiply the product v out over its factor f, all powers of it at once."""
    body = net.body[v]
    times = body.count(f)
    rest = [g for g in body if g != f]
    inner = net.body[f]
    if len(inner) ** times > MANY:
        return False
    terms: list[int] = []
    for choice in combinations(inner, repeat=times):
        factors = list(rest)
        for r in choice:
            factors.extend(net.factors(abs(r)))
            if r < 0:
                factors[-1] = -factors[-1]
        terms.append(net.product_of(factors))
    net.redefine_sum(v, terms)
    return True


def open_in_users(net: Network, v: int, only: int = 0) -> bool:
    """Put the definition of a shared sum (product) into the sums (products) that use it, or into one of them."""
    kind = net.kind[v]
    done = False
    for p in list(net.parents[v]):
        if (only and p != only) or net.kind[p] != kind or net.kind[v] != kind:
            continue
        body, inner = net.body[p], net.body[v]
        if len(body) + len(inner) > 3 * MANY:
            continue
        parts: list[int] = []
        for r in body:
            if abs(r) == v:
                parts.extend(inner if r > 0 else [-t for t in inner])
            else:
                parts.append(r)
        if kind == SUM:
            net.redefine_sum(p, parts)
        else:
            net.redefine_product(p, parts)
        done = True
    return done


def open_products(net: Network, v: int, depth: int = 8) -> bool:
    """Write the terms of the sum v as products of what is no product, so that equal terms meet; whether it changed."""
    terms: list[int] = []
    opened = False
    for r in net.body[v]:
        c = abs(r)
        if net.kind[c] != PRODUCT:
            terms.append(r)
            continue
        factors = all_factors(net, c, depth)
        if factors == list(net.body[c]):
            terms.append(r)
            continue
        opened = True
        made = net.product_of(factors)
        terms.append(made if r > 0 else -made)
    if opened:
        net.redefine_sum(v, terms)
    return opened


def all_factors(net: Network, v: int, depth: int = 8) -> list[int]:
    """Factors of v with products among them opened, to a bounded depth and number."""
    factors = list(net.body[v])
    kinds = net.kind
    for _ in range(depth):
        if PRODUCT not in [kinds[f] for f in factors]:
            break
        opened: list[int] = []
        for f in factors:
            opened.extend(net.factors(f))
        if len(opened) > MANY:
            break
        factors = opened
    return factors
