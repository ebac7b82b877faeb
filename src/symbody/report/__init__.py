"""One HTML file on a model and its motion."""

from symbody.later import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "report": "write_report",
    },
)
