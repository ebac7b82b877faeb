"""How many prims a USD stage will have whose prims refer to, inherit from or specialise others, before it is made;
and how many schemas each of them, which the library compares with one another.

Twenty prims that each refer twice to the one before make a million. What is counted here is never less than what the
library composes: every variant counts, and so does what a reference brings by way of the prims around its target.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from symbody.basics.errors import ModelError

COPIES, FOR_EACH = 20_000, 10  # prims that arcs may make, and more for each that is written
SCHEMAS = 300  # applied to one prim
DEEPEST = 100  # arcs that lead on to others
_ARCS = re.compile(rb"\b(references|payload|inherits|specializes|variantSet)")


def check_size(layer: Any, data: bytes, file: str) -> None:
    """ModelError where the stage of a layer, whose text is `data`, would have too many prims or schemas."""
    if _ARCS.search(data) or data.count(b"API") > SCHEMAS:
        _Count(layer, file).all()


class _Count:
    """A walk over the prims of the stage: each is the paths of the pieces of the layer that it is made of."""

    def __init__(self, layer: Any, file: str) -> None:
        self.layer, self.file = layer, file
        self.most = self.left = COPIES + FOR_EACH * sum(1 for _ in _written(layer))
        self.known: dict[Any, frozenset[Any] | None] = {}  # path of the stage -> its pieces; None while they are found

    def all(self) -> None:
        stack = [frozenset([self.layer.pseudoRoot.path])]
        while stack:
            pieces = stack.pop()
            if sum(map(self._schemas, pieces)) > SCHEMAS:
                at = min(pieces, key=str)
                raise ModelError(f"{self.file}:{at}: the prim has more than {SCHEMAS} apiSchemas; expected fewer.")
            names = dict.fromkeys(c.name for p in pieces for c in self._spec(p).nameChildren)
            stack += [self._with_arcs(self._children(pieces, name), 0) for name in names]

    def _spec(self, path: Any) -> Any:
        return self.layer.GetPrimAtPath(path)

    def _schemas(self, path: Any) -> int:
        given = self._spec(path).GetInfo("apiSchemas")
        return len(given.GetAddedOrExplicitItems()) if given else 0

    def _children(self, pieces: frozenset[Any], name: str) -> list[Any]:
        paths = [p.AppendChild(name) for p in pieces]
        return [p for p in paths if self._spec(p)]

    def _with_arcs(self, pieces: list[Any], depth: int) -> frozenset[Any]:
        """The pieces, their variants, and all that arcs of these bring."""
        found, waiting = set(pieces), list(pieces)
        self._count(len(pieces))
        while waiting:
            spec = self._spec(waiting.pop())
            for others in (_variants(spec), *self._targets(spec, depth)):
                self._count(len(others))
                waiting += [other for other in others if other not in found]
                found.update(others)
        return frozenset(found)

    def _count(self, more: int) -> None:
        self.left -= more
        if self.left < 0:
            raise ModelError(
                f"{self.file}: prims that refer to others make more than {self.most} of them; expected fewer."
            )

    def _targets(self, spec: Any, depth: int) -> Iterator[frozenset[Any]]:
        """What each of its arcs brings."""
        for arcs in (spec.referenceList, spec.payloadList, spec.inheritPathList, spec.specializesList):
            for arc in arcs.GetAddedOrExplicitItems():
                path = getattr(arc, "primPath", arc)
                if not path and self.layer.defaultPrim:
                    path = self.layer.pseudoRoot.path.AppendChild(self.layer.defaultPrim)
                if path:
                    yield self._at(path, depth + 1)

    def _at(self, path: Any, depth: int) -> frozenset[Any]:
        """The pieces of what stands at a path of the stage."""
        if depth > DEEPEST:
            raise ModelError(f"{self.file}: references lead on to others more than {DEEPEST} times; expected fewer.")
        pieces = frozenset([self.layer.pseudoRoot.path])
        for at in path.GetPrefixes():
            if at not in self.known:
                self.known[at] = None
                self.known[at] = self._with_arcs(self._children(pieces, at.name), depth)
            known = self.known[at]
            if known is None:
                raise ModelError(f"{self.file}: references lead from {at} back to it; expected none that do.")
            pieces = known
        return pieces


def _written(layer: Any) -> Iterator[Any]:
    stack = [layer.pseudoRoot]
    while stack:
        yield (spec := stack.pop())
        stack += [*spec.nameChildren, *(layer.GetPrimAtPath(p) for p in _variants(spec))]


def _variants(spec: Any) -> list[Any]:
    """Paths of all variants of a prim."""
    sets = () if spec.path.IsAbsoluteRootPath() else spec.variantSets.items()
    return [spec.path.AppendVariantSelection(name, v.name) for name, held in sets for v in held.variants]
