"""The command line, one file a command."""

from symbody.basics.lazy import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "app": "add_command Command COMMANDS main remove_command",
    },
)
