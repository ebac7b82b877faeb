"""Generated code is kept and compared: a change of it should be meant. REWRITE_GOLDEN=1 writes it anew."""

import os
from pathlib import Path

import pytest

import symbody as sb

HERE = Path(__file__).parent
VERBS = {"inverse": sb.inverse_dynamics, "forward": sb.forward_dynamics}


@pytest.mark.parametrize("quantity", VERBS)
def test_the_emitted_c_is_the_kept_one(quantity):
    text = VERBS[quantity](sb.load("pendulum2"), formalism="base").emit("c")
    path = HERE / f"pendulum2_{quantity}.c"
    if os.environ.get("REWRITE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
