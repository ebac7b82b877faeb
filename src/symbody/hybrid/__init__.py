"""What happens between stretches of smooth motion: events, impacts of loops that close."""

from symbody.later import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "energy_balance": "Balance",
        "events": "Happenings",
        "impacts": "Gates",
    },
)
