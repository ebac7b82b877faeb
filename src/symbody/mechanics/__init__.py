"""From a Mechanism to its equations of motion, and the proof that they are right.

In: a `Mechanism`. Out: Systems: inverse and forward dynamics, kinematics, energies, regressors; a Certificate.
`formalisms/` writes the recursions over a Tree, `assembly/` closes loops in numbers, `loops/` in symbols, `proof/`
proves formulas equal, `memoised/` keeps what was made of a Mechanism, `verbs/` are the public verbs.
Begin with `formalisms/tree.py`, then `formalisms/newton_euler.py`, then `verbs/dynamics.py`.
"""

from symbody.basics.lazy import door

# a room imports from lines above its own, and not from its neighbours
ROOMS = (
    "formalisms proof",
    "assembly",
    "loops",
    "memoised",
    "verbs",
)

__all__, __getattr__, __dir__ = door(__name__, {"": "assembly formalisms loops memoised proof verbs"})
