"""Foundations that know nothing of mechanics: errors, files, memory, words.

In: what a user wrote, wherever it is wrong. Out: sentences (`errors`), files that are whole or as they were
(`atomic_file`, `regular_file`), what was made once and is kept with its record (`memory`), how far long work is
(`progress`), names that are loaded when they are asked for (`lazy`).
Begin with `errors.py`: every exception of symbody says what was given, what was expected and what to do.
"""

from symbody.basics.lazy import door

# a room imports from lines above its own, and not from its neighbours
ROOMS = (
    "errors progress display regular_file",
    "arguments atomic_file lazy memory words",
)

__all__, __getattr__, __dir__ = door(
    __name__, {"": "arguments atomic_file display errors lazy memory progress regular_file words"}
)
