"""Trajectories as files, tables and figures."""

from __future__ import annotations

import contextlib
import csv
import errno
import json
import os
import stat
import sys
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symbody.basics import atomic_file
from symbody.basics.errors import FormatError, NameLookupError, ShapeError, SymbodyError
from symbody.motion.trajectory import array_file, trajectory_files
from symbody.motion.trajectory import saved_record as trajectory_record
from symbody.motion.trajectory.outcome import Outcome
from symbody.motion.trajectory.plot import COLOURS, plot
from symbody.motion.trajectory.tables import to_pandas, to_xarray
from symbody.motion.trajectory.trajectory import EventRecord, Trajectory
from symbody.motion.trajectory.trajectory_files import FORMATS, load_trajectory, save_trajectory

NEEDS = {".parquet": "pyarrow", ".h5": "h5py", ".hdf5": "h5py"}


def motion(batch: tuple[int, ...] = (), n: int = 7) -> Trajectory:
    rng = np.random.default_rng(3)
    q = rng.normal(size=(*batch, n, 2))
    q.flat[0] = 1 / 3  # no short decimal text
    members = None if not batch else np.full(batch, Outcome.FINISHED, dtype=object)
    if members is not None:
        members.flat[-1] = Outcome.NOT_FINITE
        q[(-1,) * len(batch) + (slice(3, None),)] = np.nan
    return Trajectory(
        np.linspace(0, 0.6, n),
        {
            "q": q,
            "energy": rng.normal(size=(*batch, n)),
            "M": rng.normal(size=(*batch, n, 2, 2)),
            "closed": rng.random((*batch, n)) > 0.5,
            "cell": rng.integers(0, 100, (*batch, n)),
        },
        labels={"q": ("shoulder", "slide, upper")},
        units={"q": ("rad", "m"), "energy": "J", "M": "kg m^2"},
        outcome=Outcome.STOPPED if not batch else Outcome.NOT_FINITE,
        outcomes=members,
        statistics={"steps": 12, "seconds": 0.25, "largest": float("inf")},
        events=(EventRecord(0.31, "stop", 'the "upper" stop\nwas met'), EventRecord(0.4, "µ")),
        notes=("a law sets slide",),
        model="arm <b>",
        method="rk4",
    )


def need(suffix: str) -> None:
    if suffix in NEEDS:
        pytest.importorskip(NEEDS[suffix])


def assert_same(a: Trajectory, b: Trajectory) -> None:
    assert list(a.values) == list(b.values)
    np.testing.assert_array_equal(a.t, b.t)
    for name in a.values:
        np.testing.assert_array_equal(a.values[name], b.values[name])
        assert a.values[name].dtype == b.values[name].dtype
    for field in ("labels", "units", "outcome", "statistics", "events", "notes", "model", "method"):
        assert getattr(a, field) == getattr(b, field), field
    assert (a.outcomes is None) == (b.outcomes is None)
    assert a.outcomes is None or (a.outcomes.shape == b.outcomes.shape and (a.outcomes == b.outcomes).all())


# -- files


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("batch", [(), (3,), (2, 2)])
def test_a_saved_trajectory_comes_back_bit_for_bit(tmp_path: Path, suffix: str, batch: tuple[int, ...]) -> None:
    need(suffix)
    made = motion(batch)
    path = save_trajectory(made, tmp_path / f"run{suffix}")
    assert_same(load_trajectory(path), made)
    assert os.listdir(tmp_path) == [f"run{suffix}"]


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_trajectory_without_instants_comes_back(tmp_path: Path, suffix: str) -> None:
    need(suffix)
    empty = Trajectory(np.zeros(0), {"q": np.zeros((0, 2))}, model="m", method="rk4")
    assert_same(load_trajectory(save_trajectory(empty, tmp_path / f"run{suffix}")), empty)


def test_csv_is_a_table_that_others_read(tmp_path: Path) -> None:
    made = motion()
    lines = save_trajectory(made, tmp_path / "run.csv").read_text().splitlines()
    comments = [line for line in lines if line.startswith("#")]
    assert comments[:3] == ["# model: arm <b>", "# method: rk4", f"# outcome: {Outcome.STOPPED.value}"]
    rows = list(csv.reader(line for line in lines if not line.startswith("#")))
    assert rows[0][:4] == ["t [s]", "q.shoulder [rad]", "q.slide, upper [m]", "energy [J]"]
    assert rows[0][4] == "M.1.1 [kg m^2]"
    assert [float(r[1]) for r in rows[1:]] == made["q.shoulder"].tolist()


def test_members_of_a_batch_stand_one_after_the_other(tmp_path: Path) -> None:
    made = motion((3,))
    lines = save_trajectory(made, tmp_path / "run.csv").read_text().splitlines()
    rows = list(csv.reader(line for line in lines if not line.startswith("#")))
    assert rows[0][:2] == ["member", "t [s]"]
    assert [int(r[0]) for r in rows[1:]] == [0] * 7 + [1] * 7 + [2] * 7
    np.testing.assert_array_equal([float(r[2]) for r in rows[8:15]], made.values["q"][1, :, 0])


def test_parquet_and_hdf5_are_readable_by_other_programs(tmp_path: Path) -> None:
    pandas, h5py = pytest.importorskip("pandas"), pytest.importorskip("h5py")
    pytest.importorskip("pyarrow")
    made = motion()
    frame = pandas.read_parquet(save_trajectory(made, tmp_path / "run.parquet"))
    np.testing.assert_array_equal(frame["q.shoulder [rad]"], made["q.shoulder"])
    with h5py.File(save_trajectory(made, tmp_path / "run.h5")) as file:
        np.testing.assert_array_equal(file["values/M"][()], made["M"])
        assert file["values/energy"].attrs["unit"] == "J"


@pytest.mark.parametrize("suffix", FORMATS)
def test_damaged_files_are_refused_with_a_sentence(tmp_path: Path, suffix: str) -> None:
    need(suffix)
    path = save_trajectory(motion(), tmp_path / f"run{suffix}")
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    cuts = [whole[:n] for n in (0, 1, 40, len(whole) // 3, len(whole) - 30)]
    for content in [*cuts, b"not a table at all", rng.bytes(3000)]:
        path.write_bytes(content)
        with pytest.raises(FormatError, match="run"):
            load_trajectory(path)
    for _ in range(30):  # one byte changed: a sentence, or a file whose numbers alone differ
        k = int(rng.integers(len(whole)))
        path.write_bytes(whole[:k] + bytes([whole[k] ^ int(rng.integers(1, 256))]) + whole[k + 1 :])
        with contextlib.suppress(FormatError):
            load_trajectory(path)


def test_files_of_others_and_other_versions_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("t,x\n0,1\n")
    with pytest.raises(FormatError, match="is not a saved Trajectory"):
        load_trajectory(path)
    record = json.loads(trajectory_record.record_text(motion()))
    for change, words in (
        ({"version": 99}, "version 99"),
        ({"format": "x"}, "does not say format"),
        ({"instants": 2**60}, "a size of"),
        ({"instants": 2**27}, "at most"),
        ({"outcome": "NO_SUCH"}, "NO_SUCH"),
        ({"quantities": [{"name": "q", "shape": [2], "type": "O", "labels": [], "unit": ""}]}, "type"),
    ):
        with pytest.raises(FormatError, match=words):
            trajectory_record.SavedRecord(json.dumps({**record, **change}), "file")
    with pytest.raises(FormatError, match=r"suffix '.txt'; expected one of .csv"):
        save_trajectory(motion(), tmp_path / "run.txt")
    with pytest.raises(FormatError, match="there is no file"):
        load_trajectory(tmp_path / "none.csv")
    with pytest.raises(FormatError, match="no folder"):
        save_trajectory(motion(), tmp_path / "none" / "run.csv")


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    description = np.frombuffer(trajectory_record.record_text(motion()).encode(), dtype=np.uint8)
    np.savez(path, description=description, t=np.array([print], dtype=object), allow_pickle=True)
    with pytest.raises(FormatError):
        load_trajectory(path)
    with pytest.raises(FormatError, match="type object"):
        save_trajectory(motion().replace(values={"q": np.array([None] * 7)}), path)


def test_hdf5_links_to_other_files_are_not_followed(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    secret = save_trajectory(motion(), tmp_path / "secret.h5")
    path = save_trajectory(motion(), tmp_path / "run.h5")
    with h5py.File(path, "a") as file:
        del file["values/q"]
        file["values/q"] = h5py.ExternalLink(str(secret), "/values/q")
    with pytest.raises(FormatError, match="of its own"):
        load_trajectory(path)


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("fault", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_the_old_file(
    tmp_path: Path, suffix: str, fault: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(suffix)
    old = motion()
    path = save_trajectory(old, tmp_path / f"run{suffix}")
    before = path.read_bytes()

    def fail(_: int) -> None:
        raise fault

    monkeypatch.setattr(atomic_file.os, "fsync", fail)
    expected = FormatError if isinstance(fault, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        save_trajectory(old.replace(model="new"), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_a_disk_that_takes_no_more_bytes_leaves_the_old_file(tmp_path: Path) -> None:
    """The kernel itself refuses the write: files may not grow beyond 4 kB here."""
    import resource

    path = save_trajectory(motion(), tmp_path / "run.csv")
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(
            FormatError, match=r"was not written: File too large\. What stood there before is unchanged"
        ):
            save_trajectory(motion(n=4000), path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["run.csv"]


def test_a_missing_package_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for module in ("pyarrow", "h5py", "pandas", "xarray"):
        monkeypatch.setitem(sys.modules, module, None)
    for suffix, module in ((".parquet", "pyarrow"), (".h5", "h5py")):
        with pytest.raises(SymbodyError, match=rf'{module} is needed .* pip install "symbody\[files\]"'):
            save_trajectory(motion(), tmp_path / f"run{suffix}")
    for table, module in ((to_pandas, "pandas"), (to_xarray, "xarray")):
        with pytest.raises(SymbodyError, match=module):
            table(motion())


UNUSUAL = {
    "big-endian": {"q": np.arange(4, dtype=">f8")},
    "half": {"q": np.array([np.nan, -0.0, 6e-8, np.inf], dtype="f2")},
    "beyond doubles": {"q": np.full(4, 2**53 + 1)},
    "long": {"q": np.full(4, np.longdouble(1) / 3)},
    "line ends": {"a\rb": np.arange(4.0), "a\r\nb": np.arange(4.0)},
    "folders": {".": np.arange(4.0), "..": np.arange(4.0)},
    "no text": {"a\udc80": np.arange(4.0)},
    "complex": {"q": np.arange(4) * 1j},
    "a long name": {"q" * 140_000: np.arange(4.0)},
    "many dimensions": {"q": np.arange(4.0).reshape(4, *[1] * 20)},
    "of no members": {"q": np.zeros((0, 4, 2))},
}


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("kind", UNUSUAL)
def test_what_is_saved_can_be_loaded_or_is_refused(tmp_path: Path, kind: str, suffix: str) -> None:
    pytest.importorskip(NEEDS.get(suffix, "numpy"))
    values = UNUSUAL[kind]
    members = np.empty(0, dtype=object) if kind == "of no members" else None
    path = tmp_path / f"motion{suffix}"
    try:
        Trajectory(np.arange(4.0), values, outcomes=members).save(path)
    except SymbodyError:
        assert not path.exists()
        return
    again = Trajectory.load(path)
    for name, array in values.items():
        assert again.values[name].dtype == array.dtype
        np.testing.assert_array_equal(again.values[name], array)


@pytest.mark.parametrize("suffix", FORMATS)
def test_wrong_paths_and_fields_are_told(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip(NEEDS.get(suffix, "numpy"))
    for name in ("x" * 5000, "a\0b"):
        with pytest.raises(FormatError):
            Trajectory.load(tmp_path / f"{name}{suffix}")
        with pytest.raises(FormatError):
            motion().save(tmp_path / f"{name}{suffix}")
    for change in ({"statistics": {"x": None}}, {"notes": (object(),)}, {"units": {"q": 5}}, {"t": np.zeros((7, 1))}):
        with pytest.raises(SymbodyError):
            motion().replace(**change).save(tmp_path / f"motion{suffix}")
    with pytest.raises(SymbodyError, match="path=None"):
        Trajectory.load(None)  # type: ignore[arg-type]


def test_two_archives_one_after_the_other_are_no_trajectory(tmp_path: Path) -> None:
    one, other = motion().save(tmp_path / "one.npz"), motion(n=5).save(tmp_path / "other.npz")
    one.write_bytes(one.read_bytes() + other.read_bytes())
    with pytest.raises(FormatError, match="its first"):
        Trajectory.load(one)


def test_sizes_are_known_before_memory_is_asked_for(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = motion().save(tmp_path / "motion.h5")
    with h5py.File(path, "a") as file:
        del file["values/q"]
        file.create_dataset("values/q", shape=(2**27, 2), dtype="f8", chunks=(2**16, 2))  # nothing is written
    bomb = motion().save(tmp_path / "bomb.npz")
    with zipfile.ZipFile(bomb, "a", zipfile.ZIP_LZMA) as archive:
        archive.writestr("more.npy", bytes(2**27))
    tracemalloc.start()
    with pytest.raises(FormatError, match="said is"):
        Trajectory.load(path)
    Trajectory.load(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**24


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("member", [-1, 2**40])
def test_events_of_no_member_are_not_saved(tmp_path: Path, suffix: str, member: int) -> None:
    pytest.importorskip(NEEDS.get(suffix, "numpy"))
    with pytest.raises(FormatError, match="size of"):
        motion((3,)).replace(events=(EventRecord(0.1, "x", "", member),)).save(tmp_path / f"motion{suffix}")


@pytest.mark.parametrize("suffix", FORMATS)
def test_what_is_too_large_to_be_loaded_is_not_saved(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(NEEDS.get(suffix, "numpy"))
    path = tmp_path / f"motion{suffix}"
    for module, name, most in (
        (trajectory_files, "MAX_VALUES", 50),
        (trajectory_files, "MAX_BYTES", 500),
        (trajectory_record, "MAX_HEADER", 500),
    ):
        with monkeypatch.context() as less:
            less.setattr(module, name, most)
            with pytest.raises(FormatError, match="files hold at most"):
                motion().save(path)
        assert not path.exists()


@pytest.mark.parametrize("suffix", [".npz", ".parquet", ".h5"])
def test_a_motion_at_rest_comes_back_however_close_it_could_be_packed(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small file may not unfold to any size; what is written may always be read."""
    pytest.importorskip(NEEDS.get(suffix, "numpy"))
    rest = Trajectory(np.zeros(500_000), {"q": np.zeros((500_000, 2))})
    small = rest.save(tmp_path / f"small{suffix}")
    monkeypatch.setattr(array_file, "ROOM", 2**20)
    assert (Trajectory.load(rest.save(tmp_path / f"rest{suffix}")).q == 0).all()
    if suffix != ".h5":
        with pytest.raises(FormatError, match="unfold"):
            Trajectory.load(small)


def test_tables_of_no_rows_have_no_columns_without_end(tmp_path: Path) -> None:
    path = Trajectory(np.zeros(0), {"q": np.zeros((0, 2))}).save(tmp_path / "motion.csv")
    for shape in ("[268435456]", "[268435456,268435456]", "[3]"):
        other = tmp_path / "other.csv"
        other.write_text(path.read_text().replace('"shape":[2]', f'"shape":{shape}'))
        tracemalloc.start()
        with pytest.raises(FormatError, match=r"numbers|columns"):
            Trajectory.load(other)
        assert tracemalloc.get_traced_memory()[1] < 2**24
        tracemalloc.stop()


def test_shapes_that_contradict_time_are_refused(tmp_path: Path) -> None:
    wrong = motion().replace(values={"q": np.zeros((6, 2))})
    with pytest.raises(ShapeError, match=r"q has the shape \(6, 2\)"):
        save_trajectory(wrong, tmp_path / "run.csv")


def test_a_new_file_is_readable_as_the_umask_says(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    assert save_trajectory(motion(), tmp_path / "run.csv").stat().st_mode == plain.stat().st_mode


# -- tables


@pytest.mark.parametrize("batch", [(), (3,)])
def test_pandas_frame_has_labels_and_units(batch: tuple[int, ...]) -> None:
    pytest.importorskip("pandas")
    made = motion(batch)
    frame = to_pandas(made)
    one = frame.loc[1] if batch else frame
    np.testing.assert_array_equal(one["q.shoulder"], made.values["q"][(1, ...) if batch else ...][:, 0])
    np.testing.assert_array_equal(one.index, made.t)
    assert frame.attrs["units"]["q.slide, upper"] == "m"
    assert frame["closed"].dtype == bool


@pytest.mark.parametrize("batch", [(), (3,), (2, 2)])
def test_xarray_dataset_selects_by_label(batch: tuple[int, ...]) -> None:
    pytest.importorskip("xarray")
    made = motion(batch)
    data = to_xarray(made)
    np.testing.assert_array_equal(data["q"].sel(q_component="shoulder"), made.values["q"][..., 0])
    assert data["M"].dims[-3:] == ("t", "M_row", "M_column")
    assert data["energy"].attrs["units"] == "J"
    assert data.attrs["outcome"] == made.outcome.name


# -- figures


def lines_of(axes: Any) -> list[Any]:
    return [line for line in axes.get_lines() if len(line.get_xdata()) > 2]


def test_plot_shows_each_quantity_over_time_with_its_unit() -> None:
    made = motion()
    figure = plot(made, ["q", "energy"])
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == ["q.shoulder\n(rad)", "q.slide, upper\n(m)", "energy\n(J)"]  # two units: two panels
    np.testing.assert_array_equal(lines_of(figure.axes[0])[0].get_ydata(), made["q.shoulder"])
    assert figure.axes[-1].get_xlabel() == "time (s)"
    assert [t.get_text() for t in figure.axes[0].texts] == ["stop", "µ"]


def test_plot_takes_components_by_name_or_place_and_refuses_others() -> None:
    made = motion()
    both = Trajectory(made.t, {"p": made["M"][:, 0]}, labels={"p": ("hip.1", "hip.2")})
    assert len(lines_of(plot(both, "p.hip").axes[0])) == 2  # all components of a joint
    for name in ("q.shoulder", "q.1"):
        np.testing.assert_array_equal(lines_of(plot(made, name).axes[0])[0].get_ydata(), made["q.shoulder"])
    with pytest.raises(NameLookupError, match=r"Did you mean 'q\.shoulder'"):
        plot(made, "q.sholder")


def test_same_component_has_the_same_colour_in_every_panel() -> None:
    n, names = 40, tuple(f"joint{k}" for k in range(12))
    values = np.random.default_rng(0).normal(size=(n, 12))
    made = Trajectory(np.arange(n) * 0.1, {"q": values, "qd": values}, labels={"q": names, "qd": names})
    first, second = plot(made).axes
    looks = [[(line.get_color(), line.get_linestyle()) for line in lines_of(axes)] for axes in (first, second)]
    assert looks[0] == looks[1]
    assert len(set(looks[0])) == 12 > len(COLOURS)


@pytest.mark.parametrize("count", [3, 9, 40])
def test_legend_and_labels_stay_inside_the_figure(count: int) -> None:
    n = 30
    names = tuple(f"a_rather_long_joint_name_{k}" for k in range(count))
    made = Trajectory(
        np.arange(n) * 0.1,
        {"q": np.random.default_rng(0).normal(size=(n, count)) * 1e5, "tau": np.ones((n, count))},
        labels={"q": names, "tau": names},
        units={"q": "rad", "tau": "N m"},
        events=tuple(EventRecord(0.1 * k, f"event number {k}") for k in range(5)),
        model="many",
        method="rk4",
    )
    figure = plot(made)
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    for axes in figure.axes:
        box, inside = axes.get_legend().get_window_extent(renderer), axes.get_window_extent(renderer)
        assert box.x1 <= figure.bbox.x1 + 1  # inside the figure
        assert box.x0 >= inside.x1  # and beside the lines
        assert inside.width > 0.4 * figure.bbox.width
    assert figure.axes[0].get_legend().get_window_extent(renderer).y0 >= figure.axes[1].bbox.y1  # not over the next


def test_of_very_many_components_those_that_move_the_most_have_colours() -> None:
    n, names = 30, tuple(f"joint{k}" for k in range(40))
    sizes = np.random.default_rng(0).permutation(40) + 1.0
    values = np.sin(np.linspace(0, 6, n))[:, None] * sizes
    made = Trajectory(np.arange(n) * 0.1, {"q": values, "qd": values[:, ::-1]}, labels={"q": names, "qd": names})
    figure = plot(made)
    first, second = ([t.get_text() for t in axes.get_legend().get_texts()] for axes in figure.axes)
    largest = {names[k] for k in np.argsort(sizes)[-8:]}
    assert set(first[:-1]) == largest
    assert first[-1] == second[-1] == "32 smaller"
    assert len(lines_of(figure.axes[0])) == 40  # all are drawn
    looks: dict[str, set[Any]] = {}
    for axes in figure.axes:
        for line in lines_of(axes):
            if line.get_label() in names:
                looks.setdefault(line.get_label(), set()).add((line.get_color(), line.get_linestyle()))
    assert all(len(found) == 1 for found in looks.values())  # the same in both panels
    assert len(set.union(*looks.values())) == len(looks)  # and of no other


def test_what_is_zero_throughout_is_named_unless_it_was_asked_for() -> None:
    t = np.linspace(0, 1, 20)
    made = Trajectory(t, {"q": np.sin(t), "tau": 0 * t}, labels={})
    figure = plot(made)
    assert [axes.get_ylabel() for axes in figure.axes] == ["q"]
    assert (
        figure.get_supxlabel() == "zero throughout: efforts tau"
    )  # below the name of the axis, where it covers nothing
    assert len(plot(made, ["q", "tau"]).axes) == 2
    assert len(plot(Trajectory(t, {"tau": 0 * t})).axes) == 1


def test_a_large_batch_is_shown_by_its_median_and_band(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    values = np.sin(np.linspace(0, 6, 50)) + 0.1 * rng.normal(size=(200, 1))
    made = Trajectory(np.linspace(0, 6, 50), {"x": values}, outcomes=np.zeros(200, int))
    axes = plot(made).axes[0]
    np.testing.assert_allclose(lines_of(axes)[0].get_ydata(), np.median(values, axis=0))
    plot(made).savefig(tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 1000


def test_many_events_and_dollar_signs_do_not_disturb_a_plot(tmp_path: Path) -> None:
    events = tuple(EventRecord(0.05 * k, "im$pact_{") for k in range(100))
    made = Trajectory(np.linspace(0, 5, 50), {"a$b^": np.zeros(50)}, events=events, model="$x_{")
    plot(made).savefig(tmp_path / "x.png")
    plot(made.replace(events=events[:3])).savefig(tmp_path / "y.png")


def test_a_run_that_diverges_is_plotted_up_to_there(tmp_path: Path) -> None:
    x = np.sin(np.linspace(0, 6, 60))
    x[-4:] = 1e5, 1e30, 1e300, np.inf
    made = Trajectory(np.linspace(0, 6, 60), {"x": x}, outcome=Outcome.NOT_FINITE)
    figure = plot(made)
    low, high = figure.axes[0].get_ylim()
    assert -10 < low < -1
    assert 1 < high < 10
    figure.savefig(tmp_path / "x.png")


def test_plot_of_nothing_says_so() -> None:
    figure = plot(Trajectory(np.zeros(0), {}))
    assert figure.axes[0].texts[0].get_text() == "nothing was recorded"


def test_formats_are_those_that_the_message_lists() -> None:
    assert set(trajectory_files.FORMATS) == {".csv", ".parquet", ".h5", ".hdf5", ".npz"}


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes with names")
def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    device = tmp_path / "device.csv"
    device.symlink_to("/dev/null")
    for path in (pipe, device):
        with pytest.raises(FormatError, match="device or a pipe"):
            atomic_file.write_whole(path, b"text")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert device.is_symlink()
    assert {p.name for p in tmp_path.iterdir()} == {"pipe", "device.csv"}
    kept = tmp_path / "kept.csv"
    kept.write_bytes(b"old")
    link = tmp_path / "link.csv"
    link.symlink_to(kept)  # to an ordinary file
    assert atomic_file.write_whole(link, b"new").read_bytes() == b"new"
