"""The books of a Network, made again from its definitions."""

from symbody.symbolic.rewrite.cost import power_chain
from symbody.symbolic.rewrite.network import CALL, INVERSE, PRODUCT, SUM, Network


def check(net: Network) -> None:
    """Assert that parents, references and the cost are what the definitions say."""
    parents: list[dict[int, int]] = [{} for _ in net.kind]
    for v, kind in enumerate(net.kind):
        if kind >= SUM:
            for r in net.body[v]:
                parents[abs(r)][v] = parents[abs(r)].get(v, 0) + 1
    assert net.refs == [sum(p.values()) for p in parents]
    assert [dict(sorted(p.items())) for p in net.parents] == [dict(sorted(p.items())) for p in parents]
    total = trig = 0
    powers: dict[int, set[int]] = {}
    for v, kind in enumerate(net.kind):
        body = net.body[v]
        if kind == SUM:
            total += len(body) - 1
            assert list(body) == sorted(body, key=abs)
            assert len({abs(r) for r in body}) == len(body)
        elif kind == PRODUCT:
            total += len(set(body)) - 1
            if all(net.kind[f] == INVERSE for f in body):
                total += 1
            for f in set(body):
                if body.count(f) > 1:
                    powers.setdefault(f, set()).add(body.count(f))
        elif kind == INVERSE:
            users = list(parents[v])
            total += not (sum(parents[v].values()) == 1 and net.kind[users[0]] == PRODUCT)
        elif kind == CALL and net.like[v] is not None:
            trig += net.like[v].op in ("sin", "cos")
    total += sum(len(power_chain(e)) for e in powers.values())
    assert net.total == total
    assert net.trig == trig
    assert len(net.order()) == sum(k >= SUM for k in net.kind) - 1
