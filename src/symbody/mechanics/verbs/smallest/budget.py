"""How long is searched for the smallest program (`budget=`), and what a longer search tells meanwhile.

budget      what is done to find it
"quick"     the default: the Choice that ships for this model, else a search of bounded work. The result depends on the
            model and the version of symbody alone
a number    that many candidates are rewritten and counted; what is found is kept on disk (`stored.py`)
"long"      the same with as many as the size of the model deserves
"stored"    no search: what a "long" one, or one by number, has kept
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from symbody.basics.errors import ModelError, NameLookupError, nearest, wrong_argument

BUDGETS = ("quick", "long", "stored")  # or a number of candidates


@dataclass(frozen=True)
class Progress:
    """done of `budget` candidates, the fewest operations so far (None: nothing yet), and what is being done."""

    done: int
    budget: int
    best: int | None
    doing: str

    def __str__(self) -> str:
        return f"{self.doing}: {self.done} of {self.budget}" + ("" if self.best is None else f", best {self.best}")


ProgressCallback = Callable[[Progress], None]


def check_budget(budget: str | int) -> None:
    """Refuse by name, before any symbolic work."""
    if isinstance(budget, str):
        if budget not in BUDGETS:
            raise NameLookupError(
                f"there is no budget {budget!r}. {nearest(budget, BUDGETS)} A number of candidates is one too."
            )
    elif isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
        words = "'quick', 'long', 'stored' or a number of candidates, 1 or more"
        raise wrong_argument("budget", budget, words, error=ModelError)


def is_kept(budget: str | int) -> bool:
    """Whether what a search finds is written to disk."""
    return budget == "long" or isinstance(budget, int)
