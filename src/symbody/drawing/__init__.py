"""A Mechanism as a picture."""

from symbody.later import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "": "show",
        "curves": "outline",
        "poses": "body_poses",
        "skeleton": "bond_kind",
    },
)
