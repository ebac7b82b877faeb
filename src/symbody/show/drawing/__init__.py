"""A Mechanism as a picture."""

from symbody.basics.lazy import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "": "show",
        "curves": "outline",
        "numeric_poses": "body_poses",
        "skeleton": "bond_kind",
    },
)
