"""Group parameters: what depends on them alone is collected, so that lowering moves it to the setup run."""

from __future__ import annotations

from symbody.symbolic.rewrite.network import PRODUCT, SETUP, SUM, Network


def group_parameters(net: Network) -> None:
    """p (q x + r y) -> (p q) x + (p r) y where no operation is added, and p x + q x -> (p + q) x."""
    for v in net.order():
        if net.kind[v] == PRODUCT:
            distribute(net, v)
        if net.kind[v] == SUM:
            collect_cofactors(net, v)
    net.clean()


def distribute(net: Network, v: int) -> None:
    """Multiply the setup factor of a product into the terms of a sum that is another factor of it, used only here."""
    body = net.body[v]
    if net.kind[body[0]] != SETUP:
        return
    for f in body[1:]:
        if net.kind[f] != SUM or net.refs[f] != 1:
            continue
        # a term without a parameter of its own gains a multiplication
        allowed = 1 if len(body) == 2 and _is_only_a_term(net, v) else 0
        bare = sum(not _takes_parameter(net, abs(r)) for r in net.body[f])
        if bare > allowed:
            continue
        mark, before = net.mark(), net.total
        terms = [net.product_of((body[0], *net.factors(abs(r)))) * (1 if r > 0 else -1) for r in net.body[f]]
        inner = net.sum_of(terms)
        net.redefine_product(v, [inner, *[g for g in body[1:] if g != f]])
        net.clean()
        if net.total <= before:
            return
        net.undo(mark)


def _is_only_a_term(net: Network, v: int) -> bool:
    return net.refs[v] == 1 and all(net.kind[p] == SUM for p in net.parents[v])


def _takes_parameter(net: Network, v: int) -> bool:
    if net.kind[v] == PRODUCT:
        return net.refs[v] == 1 and net.kind[net.body[v][0]] == SETUP
    return net.kind[v] == SETUP


def collect_cofactors(net: Network, v: int) -> None:
    """p x + q x -> (p + q) x, where x is any product without setup factor."""
    groups: dict[tuple[int, ...], list[int]] = {}
    kinds, bodies = net.kind, net.body
    several = False
    for r in bodies[v]:
        c = r if r > 0 else -r
        k = kinds[c]
        if k == PRODUCT:
            key = bodies[c]
            if kinds[key[0]] == SETUP:
                key = key[1:]
                if len(key) == 1 and kinds[key[0]] == PRODUCT:
                    key = bodies[key[0]]
        elif k == SETUP:
            continue
        else:
            key = (c,)
        if key in groups:
            groups[key].append(r)
            several = True
        else:
            groups[key] = [r]
    if not several:
        return
    for key, refs in groups.items():
        if len(refs) < 2:
            continue
        mark, before = net.mark(), net.total
        one = net.setup(net.graph.one)
        weights = []
        for r in refs:
            fs = net.factors(abs(r))
            weight = fs[0] if net.kind[fs[0]] == SETUP else one
            weights.append(weight if r > 0 else -weight)
        merged = net.product_of((net.sum_of(weights), *key))
        taken = set(refs)
        net.redefine_sum(v, [r for r in net.body[v] if r not in taken] + [merged])
        net.clean()
        if net.total > before:
            net.undo(mark)
        elif net.kind[v] != SUM:
            return
