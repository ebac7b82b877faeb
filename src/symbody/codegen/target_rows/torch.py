"""The target "torch": a module of functions of PyTorch's tensors, for one state or a batch, and for autograd."""

from __future__ import annotations

import re

from symbody.codegen.target_row import Source, Target, needs_module
from symbody.codegen.target_rows.array_text import Flavour, emit_arrays

TABLE = """def {p}_table(x, c, at):
    # the piece i with x[i] <= at < x[i+1]; the first and the last extend outward
    at = {p}_tensor(at)
    x = {p}_tensor(x).to(at.device)
    i = torch.clamp(torch.searchsorted(x, at.detach(), right=True) - 1, 0, len(x) - 2)
    t = at - x[i]
    value = {p}_tensor(c[-1]).to(at.device)[i]
    for row in c[-2::-1]:
        value = value*t + {p}_tensor(row).to(at.device)[i]
    return value
"""
NEWTON = """def {p}_newton(body, guess, tolerance, limit, span):
    # Newton's iteration, for one state or many; the outcome is the number of evaluations, negative: failed
    with torch.no_grad():
        x = tuple({p}_tensor(a) for a in guess)
        far = [{p}_tensor(span) if span else 1e6*(1.0 + abs(a)) for a in x]
        status = torch.zeros((), dtype=torch.int64)
        for k in range(1, limit + 1):
            step, later = body(x)
            finite, small = True, True
            for s, a, f in zip(step, x, far):
                finite = finite & torch.isfinite(s)
                small = small & (abs(s) <= tolerance*(1.0 + torch.where(abs(a) < f, abs(a), f)))
            running = status == 0
            status = torch.where(running & ~finite, -k, torch.where(running & finite & small, k, status))
            running = status == 0
            if k == limit or not running.any():
                break
            x = tuple(torch.where(running, a + s, a) for a, s in zip(x, step))
        status = torch.where(status == 0, -limit, status)
    if torch.is_grad_enabled():
        # a last step of no length: the solution depends on what the body reads as this step does
        step, _ = body(x)
        if any(s.requires_grad for s in step):
            x = tuple(a + (s - s.detach()) for a, s in zip(x, step))
        _, later = body(x)
    return {p}_kept(status, x), status, later


def {p}_kept(status, x):
    return tuple({p}_where(status < 0, math.nan, a) for a in x)


def {p}_checked(status, holds, outcome):
    status = torch.as_tensor(status)
    return torch.where((status > 0) & ~holds, outcome, status)
"""
HELPERS = {
    "both": """def {p}_both(function, a, b):
    return function({p}_tensor(a), {p}_tensor(b))
""",
    "where": """def {p}_where(condition, a, b):
    return torch.where(torch.as_tensor(condition), {p}_tensor(a), {p}_tensor(b))
""",
    "stack": """def {p}_stack(values):
    # results on the device of the arguments; a constant is the same for all states
    values = [{p}_tensor(v) for v in values]
    device = next((v.device for v in values if v.device.type != "cpu"), None)
    return torch.stack(torch.broadcast_tensors(*(v.to(device) for v in values))) if values else {p}_tensor([])
""",
    "one": "{p}_one = torch.tensor(1.0, dtype=torch.{kind})  # makes numbers of truths\n",
    "tensor": """def {p}_tensor(value):
    return torch.as_tensor(value, dtype=torch.{kind})
""",
}
_BOTH = re.compile(r"torch\.(arctan2|hypot|fmod)\(")


def _adapt(text: str) -> str:
    """Numbers that are no tensors, and truths, become tensors of the right kind."""
    text = text.replace("1.0*(", "{p}_one*(").replace("torch.where(", "{p}_where(")
    return _BOTH.sub(r"{p}_both(torch.\1, ", text)


def _emit(
    source: Source, *, precision: str = "double", certificate: str | None = None, project: bool = False
) -> dict[str, str]:
    kind = "float32" if precision == "single" else "float64"
    flavour = Flavour(
        module="torch",
        imports=("import math", "", "import torch"),
        newton=NEWTON,
        table=TABLE,
        stack="{p}_stack({0})",
        read="{0} = {p}_tensor({0})",
        adapt=_adapt,
        failed="{p}_where({0}, math.nan, {1})",
        helpers={name: text.replace("{kind}", kind) for name, text in HELPERS.items()},
    )
    return emit_arrays(source, flavour, certificate, project, precision)


TORCH = Target(
    name="torch",
    about="a module of functions of PyTorch's tensors, differentiable, solve blocks included",
    emit=_emit,
    shown=".py",
    certificate=True,
    precisions=("double", "single"),
    lacks=needs_module("torch"),
    check=(("{python}", "test_{name}.py"),),
)
