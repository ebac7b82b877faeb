"""Batches that are streamed: the same numbers as in one piece, chunk by chunk, in a file that is whole or not there."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from helpers.simulation_models import ball, oscillator
from symbody.basics.errors import DefinitionError, FormatError
from symbody.motion.trajectory.outcome import Outcome

START = np.linspace(0.2, 2.0, 23)[:, None]


def test_chunks_are_the_parts_of_the_batch():
    whole = sb.simulate(oscillator(), 1.0, 0.05, q0=START)
    seen = []
    told = sb.simulate(oscillator(), 1.0, 0.05, q0=START, stream=sb.Stream(lambda k, part: seen.append((k, part)), 10))
    assert [k for k, _ in seen] == [0, 10, 20]
    assert np.array_equal(np.concatenate([part.q for _, part in seen]), whole.q)
    assert told.outcomes.shape == (23,)
    assert not told.values
    assert told.statistics["steps"] == whole.statistics["steps"]


def test_a_parquet_file_has_every_member(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    bounce = sb.When("bounce", "q.z", direction=-1, reset={"qd.z": "-0.8*qd.z"})
    deep = sb.When("soon", "t - 0.8 + 0.2*q.z", stop=True)
    path = tmp_path / "balls.parquet"
    options = {"q0": START, "events": [bounce, deep], "samples": 6}
    whole = sb.simulate(ball(), 1.0, 0.01, **options)
    told = sb.simulate(ball(), 1.0, 0.01, stream=sb.Stream(path, 7), **options)
    file = parquet.ParquetFile(path)
    assert file.metadata.num_row_groups == 4
    table = file.read().to_pandas()
    assert np.array_equal(table["q.z [m]"].to_numpy(), whole.q.reshape(-1), equal_nan=True)
    assert table["member"].tolist() == np.repeat(np.arange(23), 6).tolist()
    assert list(told.outcomes) == list(whole.outcomes)
    assert set(table["outcome"][::6]) == {o.name for o in whole.outcomes}
    counts = [sum(e.member == k for e in whole.events) for k in range(23)]
    assert table["events"][::6].tolist() == counts
    assert Outcome.STOPPED in told.outcomes


def test_members_that_go_apart_are_streamed_too():
    seen = []
    sb.simulate(
        oscillator(),
        0.5,
        q0=START[:5],
        method="radau",
        samples=3,
        stream=sb.Stream(lambda k, part: seen.append(part), 2),
    )
    one = sb.simulate(oscillator(), 0.5, q0=START[4], method="radau", samples=3)
    assert np.array_equal(seen[2].q[0], one.q)


def test_a_file_stays_as_it_was_where_a_chunk_fails(tmp_path):
    pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "runs.parquet"
    path.write_bytes(b"before")

    def asked(t: float, q: np.ndarray, qd: np.ndarray) -> float:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        sb.simulate(oscillator(), 0.5, 0.1, q0=START, inputs={"x": asked}, stream=path)
    assert path.read_bytes() == b"before"
    assert [p.name for p in tmp_path.iterdir()] == ["runs.parquet"]


@pytest.mark.parametrize(
    ("stream", "error", "words"),
    [
        ("runs.csv", FormatError, ".parquet"),
        (3, DefinitionError, "a path, or a function"),
    ],
)
def test_wrong_streams_are_refused(stream, error, words):
    with pytest.raises(error, match=words):
        sb.simulate(oscillator(), 0.5, 0.1, q0=START, stream=stream)


def test_one_state_is_not_streamed():
    with pytest.raises(DefinitionError, match="for batches"):
        sb.simulate(oscillator(), 0.5, 0.1, stream=lambda k, part: None)


def streamed(**more):
    bounce = sb.When("bounce", "q.z", direction=-1, reset={"qd.z": "-0.8*qd.z"})
    deep = sb.When("soon", "t - 0.8 + 0.2*q.z", stop=True)
    return sb.simulate(ball(), 1.0, 0.01, q0=START, events=[bounce, deep], samples=6, **more)


def test_a_streamed_file_is_loaded_as_the_batch_it_was(tmp_path):
    pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "balls.parquet"
    whole = streamed()
    streamed(stream=sb.Stream(path, 7))
    again = sb.Trajectory.load(path)
    assert list(again.outcomes) == list(whole.outcomes)
    assert (again.outcome, again.model, again.method) == (whole.outcome, whole.model, whole.method)
    assert (again.labels, {"t": "s", **again.units}) == (whole.labels, whole.units)
    assert again.statistics["steps"] == whole.statistics["steps"]
    assert np.array_equal(again.t, whole.t)
    for name, values in whole.values.items():
        assert np.array_equal(again[name], values, equal_nan=True)
    assert f"{len(whole.events)} events" in again.notes[0]
    again.save(tmp_path / "again.parquet")
    assert np.array_equal(sb.Trajectory.load(tmp_path / "again.parquet").q, whole.q, equal_nan=True)


def test_no_flipped_bit_of_a_streamed_file_gives_other_numbers(tmp_path):
    pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "balls.parquet"
    streamed(stream=sb.Stream(path, 7))
    data, good = path.read_bytes(), sb.Trajectory.load(path)
    rng = np.random.default_rng(3)
    refused = 0
    for bit in rng.choice(8 * len(data), 300, replace=False):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        try:
            found = sb.Trajectory.load(path)
        except FormatError:
            refused += 1
            continue
        assert found.labels == good.labels
        assert list(found.outcomes) == list(good.outcomes)
        assert all(np.array_equal(found[n], a, equal_nan=True) for n, a in good.values.items())
    assert refused > 150


def test_long_outcomes_of_a_stream_are_not_written_out_for_every_row(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "balls.parquet"
    streamed(stream=sb.Stream(path, 7))
    table = parquet.read_table(path)
    words = arrow.array(["x" * 2**20])
    column = arrow.DictionaryArray.from_arrays(np.zeros(table.num_rows, dtype=np.int8), words)
    about = {"symbody-stream": parquet.read_metadata(path).metadata[b"symbody-stream"]}
    table = table.set_column(table.column_names.index("outcome"), "outcome", column)
    parquet.write_table(table.replace_schema_metadata(about), path)
    pool = arrow.default_memory_pool()
    before = pool.max_memory()
    with pytest.raises(FormatError, match="checksum of its column 'outcome'"):
        sb.Trajectory.load(path)
    assert pool.max_memory() < before + 2**27 < 2**20 * table.num_rows
