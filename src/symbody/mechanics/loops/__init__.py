"""Closed loops: constraints of cuts and couplings, dependent joints, closure, reduced and augmented equations."""

from symbody.basics.lazy import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "closing.closure": "close Closure",
        "closing.projection": "projected",
        "cutting.cutting": "recut",
        "equations.augmented": "augmented",
        "equations.reduced": "reduce",
        "equations.tree_equations": "opened",
        "partition.branches": "Branch",
        "partition.partition": "choose_partition Partition",
        "partition.singular": "say_singular",
        "rows.constraint_rows": "constraints",
    },
)
