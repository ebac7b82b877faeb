"""A bounded random search: moves at random places, settled and judged by exact cost. Seeded, hence repeatable."""

from __future__ import annotations

from math import exp
from random import Random

from symbody.symbolic.rewrite.moves import can_expand, expand, open_in_users, open_products
from symbody.symbolic.rewrite.network import PRODUCT, SUM, Network
from symbody.symbolic.rewrite.settle import settle
from symbody.symbolic.rewrite.trigonometry import use_identities

PATIENCE = 700
TEMPERATURE = 0.3  # operations that a step may lose at the beginning, about


def search(net: Network, trials: int, seed: int = 0, patience: int = PATIENCE) -> None:
    """Try at most `trials` moves; worse states are entered with falling probability, the best one is kept.

    It ends when `patience` trials have brought nothing new. At equal totals fewer additions win: published counts are
    compared number by number.
    """
    random = Random(seed)
    places: list[int] = []
    best, best_mark = (net.total, net.adds), net.mark()
    n = found = 0
    while n < trials and n - found < patience:
        if not places:
            places = [v for v in net.order() if net.kind[v] in (SUM, PRODUCT)]
            random.shuffle(places)
            n += 1
            if not places:
                return
        mark, before = net.mark(), net.total
        pick = random.random if random.random() < 0.7 else None
        moved = _move(net, places.pop(), random)
        if moved and places and random.random() < 0.2:
            moved = _move(net, places.pop(), random) or moved
        if not moved:
            net.undo(mark)
            continue
        n += 1
        settle(net, mark, pick)
        loss = net.total - before
        heat = TEMPERATURE * max(0.0, 1 - n / trials) + 1e-9
        if loss <= 0 or random.random() < exp(-loss / heat):
            if (net.total, net.adds) < best:
                found = n if net.total < best[0] else found
                best, best_mark = (net.total, net.adds), net.mark()
        else:
            net.undo(mark)
    net.undo(best_mark)


def _move(net: Network, v: int, random: Random) -> bool:
    """One random move at the vertex v; whether there was one."""
    kind = net.kind[v]
    if kind == PRODUCT:
        sums = can_expand(net, v)
        if sums and random.random() < 0.7:
            return expand(net, v, sums[int(random.random() * len(sums))])
    elif kind == SUM:
        if random.random() < 0.3 and open_products(net, v, 1 + int(random.random() * 3)):
            net.clean()
            use_identities(net, v)
            return True
    else:
        return False
    parents = [p for p in net.parents[v] if net.kind[p] == kind]
    if not parents or len(parents) > 6:
        return False
    only = parents[int(random.random() * len(parents))] if random.random() < 0.4 else 0
    return open_in_users(net, v, only)
