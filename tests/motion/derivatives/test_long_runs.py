"""Long runs: memory stays within its bound, and the gradient is right."""

import subprocess
import sys

import numpy as np
import pytest

from symbody.motion.derivatives.tape import spacing

# a spring for 10^6 steps: x = cos(w t); prints gradients, and the most resident memory that they added (MB)
LONG = """
from pathlib import Path
import numpy as np, symbody as sb
def resident(kind):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(x for x in lines if x.startswith(kind)).split()[1]) / 1024
x, v, k, u = *sb.symbols("x v"), sb.symbol("k", "parameter", default=4.0), sb.symbol("u")
spring = sb.System("spring", inputs={"x": x, "v": v, "u": u}, outputs={"x_dot": v, "v_dot": -k * x + u},
    states={"x": "x_dot", "v": "v_dot"})
def run(steps):
    table = ([0.0, steps * 1e-3], [0.0, 0.0])
    return sb.differentiable(spring, steps * 1e-3, ["k", "x"], of=["x"], integrals={"s": "x^2"}, step=1e-3,
        states0={"x": 1.0}, inputs={"u": table}, memory=1e6)
run(150000).gradient(None, [1.0, 0.0])
f = run(1000000)
Path("/proc/self/clear_refs").write_text("5")
before = resident("VmRSS")
print(*f.gradient(None, [1.0, 0.0])[1], *f.gradient(None, [0.0, 1.0])[1], resident("VmHWM") - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="resident memory is read from /proc")
def test_a_million_steps():
    done = subprocess.run([sys.executable, "-c", LONG], check=True, capture_output=True, text=True)
    end_k, end_x, sum_k, sum_x, most = map(float, done.stdout.split())
    t, w, k = 1000.0, 2.0, 4.0
    # d/dk of cos(w t) and of its squared integral t / 2 + sin(2 w t) / (4 w), w = sqrt(k)
    np.testing.assert_allclose([end_k, end_x], [-t * np.sin(w * t) / (2 * w), np.cos(w * t)], rtol=1e-6)
    wanted = (t * np.cos(2 * w * t) / (2 * w) - np.sin(2 * w * t) / (4 * k)) / (2 * w)
    np.testing.assert_allclose([sum_k, sum_x], [wanted, t + np.sin(2 * w * t) / (2 * w)], rtol=1e-6)
    # states may take 1 MB on the way; signals of one native call of the run take the rest, however long it is. All
    # states and all knots of signals would take 100 MB
    assert most < 24


def test_few_long_stretches_are_computed_again():
    assert spacing(1000, 4, 1e6) == 1
    assert spacing(10**6, 4, 1e6) == 1000
    assert spacing(10**6, 4, 1e4) == 9600  # what is kept fits, stretches are longer
