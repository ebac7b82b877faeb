"""Share pairs: the pair of terms that most sums have in common becomes one value, and so on; the same for factors."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from symbody.symbolic.rewrite.network import PRODUCT, SETUP, SUM, Network

# Pairs are looked for among this many shared parts of one sum or product: the work per vertex stays bounded.
WIDEST = 48

Key = tuple[int, int]  # (a, b): a < |b|; a negative b is subtracted


def share_pairs(net: Network) -> None:
    """Most frequent pairs of terms (up to sign), then of factors, each as one shared value."""
    share_pairs_of(net, SUM)
    share_pairs_of(net, PRODUCT)


def share_pairs_of(net: Network, kind: int) -> None:
    holders: dict[Key, dict[int, None]] = {}
    for v in net.order():
        if net.kind[v] == kind:
            for key in _pairs(net, v, kind):
                holders.setdefault(key, {})[v] = None
    heap = [(-len(h), _last_if_setup(net, key), key) for key, h in holders.items() if len(h) > 1]
    heapify(heap)
    while heap:
        count, setup, key = heappop(heap)
        held = holders[key]
        if len(held) < 2:
            continue
        if len(held) != -count:
            heappush(heap, (-len(held), setup, key))
            continue
        users = [v for v in held if net.kind[v] == kind and _holds(net, v, kind, key)]
        holders[key] = {}
        if len(users) < 2:
            continue
        mark, before = net.mark(), net.total
        old = {v: _pairs(net, v, kind) for v in users}
        pair = net.sum_of(key) if kind == SUM else net.product_of(key)
        for v in users:
            if net.kind[v] == kind and v != abs(pair) and _holds(net, v, kind, key):
                _use(net, v, kind, key, pair)
        net.clean()
        if net.total >= before:
            net.undo(mark)
            continue
        # the pairs of the changed vertices, before and now
        for v in users:
            now = _pairs(net, v, kind) if net.kind[v] == kind else []
            kept = set(now)
            was = set(old[v])
            for k in old[v]:
                # a pair may be new here: its parts have become shared since v was last looked at
                if k not in kept and k in holders:
                    holders[k].pop(v, None)
            for k in now:
                if k not in was:
                    group = holders.setdefault(k, {})
                    group[v] = None
                    if len(group) > 1:
                        heappush(heap, (-len(group), _last_if_setup(net, k), k))


def _last_if_setup(net: Network, key: Key) -> int:
    return 1 if net.kind[key[0]] == SETUP or net.kind[abs(key[1])] == SETUP else 0


def _pairs(net: Network, v: int, kind: int) -> list[Key]:
    """Pairs of parts of v, each part being used elsewhere too."""
    parents = net.parents
    body = net.body[v]
    if kind == SUM:
        parts = [r for r in body if len(parents[abs(r)]) > 1]
    else:
        parts = [f for f in dict.fromkeys(body) if len(parents[f]) > 1]
    if len(parts) < 2:
        return []
    del parts[WIDEST:]
    if kind == SUM:
        return [
            (abs(a), b if a > 0 else -b) for i, a in enumerate(parts) for b in parts[i + 1 :]
        ]  # parts are sorted by number
    parts.sort()
    return [(a, b) for i, a in enumerate(parts) for b in parts[i + 1 :]]


def _holds(net: Network, v: int, kind: int, key: Key) -> bool:
    body = net.body[v]
    a, b = key
    if kind == SUM:
        return (a in body and b in body) or (-a in body and -b in body)
    return a in body and b in body


def _use(net: Network, v: int, kind: int, key: Key, pair: int) -> None:
    """Write v with the pair as one part."""
    a, b = key
    body = net.body[v]
    if kind == SUM:
        if a not in body:
            a, b, pair = -a, -b, -pair
        net.redefine_sum(v, [*[r for r in body if r != a and r != b], pair])
        return
    rest = list(body)
    rest.remove(a)
    rest.remove(b)
    net.redefine_product(v, [*rest, pair])
