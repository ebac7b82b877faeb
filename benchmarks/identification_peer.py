"""figaroh on a URDF: seconds for the regressor of samples, and its number of base parameters; JSON on the last line.

python benchmarks/identification_peer.py ROBOT.urdf SAMPLES
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np


def main(path: str, samples: int) -> dict[str, Any]:
    """Processor time of the torque regressor of `samples` states, inertial columns alone."""
    warnings.filterwarnings("ignore")
    import pinocchio as pin
    from figaroh.tools.qrdecomposition import get_baseIndex
    from figaroh.tools.regressor import RegressorBuilder, eliminate_non_dynaffect

    model = pin.buildModelFromUrdf(path)
    robot = SimpleNamespace(model=model, data=model.createData())
    rng = np.random.default_rng(0)
    q, v, a = (rng.uniform(-1, 1, (samples, model.nv)) for _ in range(3))
    builder, settings = RegressorBuilder(robot), {"act_idxv": list(range(model.nv))}
    builder.build_basic_regressor(q[:10], v[:10], a[:10], settings)
    start = time.process_time()
    builder.build_basic_regressor(q, v, a, settings)
    taken = time.process_time() - start
    wide = builder.build_basic_regressor(q[:200], v[:200], a[:200], settings)
    names = {f"x{k}": 0.0 for k in range(wide.shape[1])}
    kept, left = eliminate_non_dynaffect(wide, names, 1e-6)
    return {"seconds": taken, "count": len(get_baseIndex(kept, left))}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]))))
