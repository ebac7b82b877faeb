"""Runs: `simulate` and `resume`, their state, checkpoints."""

from symbody.basics.lazy import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "": "simulate",
        "checkpoint": "load_checkpoint save_checkpoint",
        "simulate": "resume",
    },
)
