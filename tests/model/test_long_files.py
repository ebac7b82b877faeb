"""Files of 10 000 bodies: written and read in a time that grows with their length, in every format."""

import time

import pytest

import symbody as sb
from symbody.model.load import write_file

FORMATS = (".yaml", ".urdf", ".xml", ".sdf", ".mbs")


def bodies(count: int, chain: bool) -> sb.Mechanism:
    """So many bodies on revolute joints, each on the one before it, or two on each."""
    b = sb.Mechanism.builder("many")
    for k in range(count):
        carrier = "world" if k == 0 else f"b{k - 1}" if chain else f"b{(k - 1) // 2}"
        b.body(f"b{k}", 1.0, (0, 0.1, 0), (0.1, 0.2, 0.3), frames={"tip": (0, 0, 0.1)})
        b.joint(f"j{k}", "revolute", carrier, f"b{k}", (0.1, 0, 0.2), axis="xyz"[k % 3], viscous=0.1, limits=(-1, 1))
    return b.done()


def seconds(count: int, chain: bool, path) -> float:
    """CPU time of writing and reading."""
    mech = bodies(count, chain)
    start = time.process_time()
    write_file(mech, path)
    again = sb.load(path)
    took = time.process_time() - start
    assert again.nv == count
    return took


@pytest.mark.slow
@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("chain", [False, True], ids=["tree", "chain"])
def test_time_grows_with_the_length_of_the_file(suffix, chain, tmp_path):
    """Four times as many bodies take about four times as long; sixteen times would be quadratic."""
    if chain and suffix == ".xml":
        pytest.skip("MJCF nests each body of a chain in the one before it, and XML is read to 200 levels")
    path = tmp_path / f"many{suffix}"
    seconds(100, chain, path)  # what is loaded once
    assert seconds(10_000, chain, path) < 7 * seconds(2_500, chain, path)
