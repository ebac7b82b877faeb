"""Merge nested sums and nested products. A part that is used elsewhere stays closed, or it would be computed twice."""

from __future__ import annotations

from symbody.symbolic.rewrite.network import PRODUCT, SUM, Network


def flatten(net: Network) -> None:
    """Open every sum that is a term of one sum only, and every product that is a factor of one product only."""
    for v in net.order():
        flatten_vertex(net, v)
    net.clean()


def flatten_vertex(net: Network, v: int) -> bool:
    """Flatten the direct parts of v; whether there were any."""
    kind = net.kind[v]
    if kind != SUM and kind != PRODUCT:
        return False
    kinds, refs, bodies = net.kind, net.refs, net.body
    body = bodies[v]
    for r in body:
        c = r if r > 0 else -r
        if kinds[c] == kind and refs[c] == 1:
            break
    else:
        return False
    parts: list[int] = []
    for r in body:
        c = r if r > 0 else -r
        if kinds[c] != kind or refs[c] != 1:
            parts.append(r)
        elif r > 0:
            parts.extend(bodies[c])
        else:
            parts.extend([-t for t in bodies[c]])
    if kind == SUM:
        net.redefine_sum(v, parts)
    else:
        net.redefine_product(v, parts)
    return True
