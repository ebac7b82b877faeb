"""What happens between stretches of smooth motion: the state of a run, its plan, and its hooks."""

from symbody.basics.lazy import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "energy_balance": "EnergyBalance",
        "events": "Events",
        "hooks": "HookRow Making",
        "plan": "Change Hook Plan Quiet",
        "state": "RunState",
    },
)
