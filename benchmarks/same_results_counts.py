"""Operations of all bundled and pattern models, by named formalisms, stored choices and named partitions."""

from __future__ import annotations

import symbody as sb
from benchmarks.same_results import Result, result

RESULTS: list[Result] = []
TREES = (
    "acma_h80", "human", "motorcycle", "panda", "pendulum2", "pendulum3", "pendulum4", "pendulum5", "puma560",
    "satellite_arm", "stanford_arm", "ur5",
)  # fmt: skip
# independent joints, as found once by the automatic choice
CLOSED = {
    "andrews_squeezer": ["beta"],
    "bogie": None,
    "bricard": ["hinge2"],
    "car": ["chassis", *(f"{w}_{j}" for w in ("fl", "fr", "rl", "rr") for j in ("bar1.1", "spin"))],
    "car_lane_change": None,  # as car
    "delta": ["arm2", "fore2"],
    "delta_light": ["arm3", "platform.1", "platform.2"],
    "four_bar": ["crank"],
    "multi_link_suspension": ["carrier.2", "spin"],
    "n_four_bar": ["upright1"],
    "slider_crank": ["crank"],
    "stewart": ["platform"],
    "stewart_light": ["platform"],
    "three_loops": ["q1"],
    "three_rrr_1": ["q1", "q2", "q3"],
    "three_rrr_2": ["q1", "q2", "q3"],
    "three_rrr_3": ["platform"],
    "three_rrr_3_centre": ["q4", "q5", "platform.3"],
    "three_rrr_4": ["platform"],
    "whipple_bicycle": ["heading", "lean", "front_contact.1"],
}
# patterns with choices on file, which `auto` takes without a search
STORED = {
    "patterns/puma_robotran": ("inverse", "forward"),
    "patterns/puma_medusa": ("inverse",),
    "patterns/general_6r": ("inverse",),
    "patterns/pendulum5": ("inverse", "forward"),
    "patterns/rx90": ("inverse",),
    "patterns/rx90_simple": ("inverse",),
    "patterns/stanford": ("inverse",),
    "patterns/stanford_simple": ("inverse",),
}
VERBS = {"inverse": sb.inverse_dynamics, "semi_explicit": sb.semi_explicit, "forward": sb.forward_dynamics}


def operations(system: sb.System) -> list[int]:
    """Operations, trigonometric functions, others, and what is made once."""
    n = system.count()
    return [n.total, n.trig, n.other, n.setup]


for name in TREES:
    made = result(RESULTS, f"operations of {name}", "count")
    made(lambda name=name: [operations(v(sb.load(name), "base", preset="standard")) for v in VERBS.values()])
for name, joints in CLOSED.items():
    made = result(RESULTS, f"operations of {name}, opened", "count")
    made(lambda name=name: operations(sb.inverse_dynamics(sb.load(name), "base", preset="standard", loops=False)))
    if joints is not None:
        made = result(RESULTS, f"operations of {name}, closed", "count")
        made(
            lambda name=name, joints=joints: operations(
                sb.forward_dynamics(sb.load(name), "base", preset="standard", partition=joints)
            )
        )
for name, quantities in STORED.items():
    for quantity in quantities:
        made = result(RESULTS, f"operations of {name}, {quantity}, choice on file", "count")
        made(lambda name=name, quantity=quantity: operations(VERBS[quantity](sb.load(name))))
