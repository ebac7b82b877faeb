"""One HTML file on a model and its motion."""

from symbody.basics.lazy import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "model_report": "write_report",
    },
)
