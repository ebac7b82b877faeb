"""Records: reading, windows, filters, and what is said of bad ones."""

from __future__ import annotations

import os
import struct
import time
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

from symbody.basics.errors import DataError, FormatError, NameLookupError
from symbody.show.cli.assignments import read_table
from symbody.studies.identification import (
    Series,
    check_signals,
    differentiated,
    joined,
    prepare,
    read_series,
    without_outliers,
)
from symbody.studies.identification.cutoff_choice import chosen_cutoff
from symbody.studies.identification.filtering import decimated, low_pass
from symbody.studies.identification.mat_elements import checked_elements


def sines(samples=1001, period=0.01):
    t = period * np.arange(samples)
    q = np.column_stack([np.sin(2 * t), np.cos(3 * t)])
    return Series(t, {"q": q, "tau": 2 * q}, ("a", "b"), source="sines")


def test_lengths_that_differ_are_refused_with_both():
    with pytest.raises(DataError, match=r"'tau' has 9 rows, but t has 10"):
        Series(np.arange(10.0), {"q": np.zeros(10), "tau": np.zeros(9)})


def test_windows_splits_and_folds_are_stretches_of_time():
    s = sines()
    assert s.window(2.0, 3.0).duration == pytest.approx(1.0)
    first, second = s.split(0.7)
    assert len(first) + len(second) == len(s)
    rest, held = s.folds(5)[2]
    assert len(rest.pieces) == 2
    assert len(held.pieces) == 1
    both = joined([first, second])
    assert both.breaks == (len(first),)
    with pytest.raises(NameLookupError, match="'tau'"):
        s["tua"]


def test_differences_are_derivatives_and_filters_shift_nothing():
    s = prepare(sines(), cutoff=20.0)
    np.testing.assert_allclose(s["qd"][:, 0], 2 * np.cos(2 * s.t), atol=2e-3)
    np.testing.assert_allclose(s["qdd"][:, 1], -9 * np.cos(3 * s.t), atol=2e-2)
    measured = differentiated(sines().with_values(qd=np.ones((1001, 2))), velocity=False)
    assert np.all(measured["qdd"] == 0)


def test_decimation_keeps_what_is_slow_and_drops_what_is_fast():
    t = 0.001 * np.arange(4000)
    values = np.column_stack([np.sin(2 * t), np.sin(2 * np.pi * 300 * t)])
    found, index = decimated(values, 20, [slice(0, 4000)])
    inner = slice(20, -20)  # away from the ends, where the filter has not settled
    np.testing.assert_allclose(found[inner, 0], np.sin(2 * t[index])[inner], atol=1e-4)
    assert np.abs(found[inner, 1]).max() < 1e-6
    with pytest.raises(DataError, match="half the sampling frequency"):
        low_pass(values, 600.0, 0.001)


def test_time_that_goes_back_is_refused_and_gaps_break_the_record():
    s = sines()
    t = s.t.copy()
    t[500:] -= 1.0
    with pytest.raises(DataError, match=r"time goes back .* \(sample 500\)"):
        check_signals(s.replace(t=t))
    t = s.t.copy()
    t[500:] += 1.0
    found = check_signals(s.replace(t=t))
    assert found.breaks == (500,)
    assert "time jumps" in " ".join(found.notes)
    assert len(prepare(s.replace(t=t)).pieces) == 2


def test_samples_without_numbers_are_named_by_joint_and_left_out():
    s = sines()
    tau = s["tau"].copy()
    tau[100:105, 1] = np.nan
    found = check_signals(s.with_values(tau=tau))
    assert len(found) == len(s) - 5
    assert "tau of 'b': 5 samples hold no number" in found.notes
    tau[:, 1] = np.nan
    with pytest.raises(DataError, match="100% of the samples"):
        check_signals(s.with_values(tau=tau))


def test_constant_signals_other_units_and_swapped_rates_are_noticed():
    s = sines()
    q = s["q"].copy()
    q[:, 0] = 0.5
    assert "q of 'a' is constant: it does not move" in check_signals(s.with_values(q=q)).notes
    rates = np.column_stack([2 * np.cos(2 * s.t), -3 * np.sin(3 * s.t)])
    assert not check_signals(s.with_values(qd=rates)).notes
    assert "degrees" in " ".join(check_signals(s.with_values(qd=np.degrees(rates))).notes)
    assert "swapped" in " ".join(check_signals(s.with_values(qd=rates[:, ::-1])).notes)


def test_single_outliers_are_replaced_and_counted():
    s = sines()
    tau = s["tau"] + 0.01 * np.random.default_rng(0).normal(size=(1001, 2))
    tau[77, 0] = 50.0
    found = without_outliers(s.with_values(tau=tau))
    assert abs(found["tau"][77, 0]) < 3
    assert "tau of 'a': 1 outliers" in " ".join(found.notes)


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".mat", ".parquet", ".h5"])
def test_files_of_all_kinds_give_the_same_record(tmp_path, suffix):
    s = sines(50)
    path = tmp_path / f"record{suffix}"
    if suffix == ".csv":
        head = "t,q.a,q.b,tau.a,tau.b"
        np.savetxt(path, np.column_stack([s.t, np.degrees(s["q"]), s["tau"]]), delimiter=",", header=head, comments="")
    elif suffix == ".npz":
        np.savez(path, t=s.t, q=np.degrees(s["q"]), tau=s["tau"])
    elif suffix == ".mat":
        from scipy.io import savemat

        savemat(path, {"t": s.t, "q": np.degrees(s["q"]), "tau": s["tau"]})
    elif suffix == ".parquet":
        pandas = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        columns = {"t": s.t, "q_1": np.degrees(s["q"][:, 0]), "q_2": np.degrees(s["q"][:, 1])}
        pandas.DataFrame({**columns, "tau_1": s["tau"][:, 0], "tau_2": s["tau"][:, 1]}).to_parquet(path)
    else:
        h5py = pytest.importorskip("h5py")
        with h5py.File(path, "w") as file:
            for n, a in (("t", s.t), ("q", np.degrees(s["q"]).T), ("tau", s["tau"])):
                file[n] = a
    found = read_series(path, units={"q": "deg"})
    np.testing.assert_allclose(found["q"], s["q"], atol=1e-12)
    np.testing.assert_allclose(found["tau"], s["tau"], atol=1e-12)
    if suffix == ".csv":
        assert found.labels == ("a", "b")


def test_names_that_files_do_not_have_are_refused_with_the_nearest(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("time,position\n0,1\n1,2\n2,3\n")
    found = read_series(path, {"q": "position"})
    assert found["q"].shape == (3, 1)
    with pytest.raises(DataError, match="'position'"):
        read_series(path, {"q": "positon"})
    with pytest.raises(FormatError, match=r"\.xls"):
        read_series(tmp_path / "r.xls")
    path.write_text("time,position\n0,1\n1\n2,3\n")
    with pytest.raises(DataError, match="row 3 has 1 entries"):
        read_series(path)


def test_times_in_milliseconds_and_far_outliers_are_said():
    t = np.arange(0, 10, 0.005)
    q = np.sin(2 * t)[:, None]
    tau = 3 * np.cos(2 * t)[:, None]
    assert not any("apart" in n or "outliers" in n for n in prepare(Series(t, {"q": q, "tau": tau}, ("j",))).notes)
    assert any("5 s apart: is t in other units" in n for n in prepare(Series(1000 * t, {"q": q}, ("j",))).notes)
    tau[50::100] += 50.0
    notes = prepare(Series(t, {"q": q, "tau": tau}, ("j",))).notes
    assert any("tau of 'j': 20 outliers, up to " in n for n in notes)


def test_a_short_stretch_does_not_decide_the_cutoff():
    t = np.arange(0, 10, 0.005)
    q = np.sin(2 * np.pi * t)[:, None]
    broken = Series(t, {"q": q}, ("j",), breaks=(50,))
    assert chosen_cutoff(broken.window(0.25, 10)).cutoff == chosen_cutoff(broken).cutoff


# -- files that say more than they hold, or point elsewhere


def test_data_that_lie_in_another_file_are_not_read(tmp_path):
    h5py = pytest.importorskip("h5py")
    secret = tmp_path / "secret.bin"
    secret.write_bytes(np.arange(20.0).tobytes())
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["q"] = np.ones(20)
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file["t"] = 0.1 * np.arange(20)
        file.create_dataset("tau", (20,), float, external=[(str(secret), 0, h5py.h5f.UNLIMITED)])
        layout = h5py.VirtualLayout((20,), float)
        layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "q", (20,))
        file.create_virtual_dataset("q", layout)
        file["qd"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/q")
        file["own"] = np.ones(20)
    assert set(read_series(tmp_path / "run.h5").values) == {"own"}


def test_a_small_file_that_would_unfold_to_a_large_one_is_refused(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file.create_dataset("t", (2**40,), float, chunks=(1024,))
    assert (tmp_path / "run.h5").stat().st_size < 10_000
    with pytest.raises(FormatError, match="says that it holds 1099511627776 numbers"):
        read_series(tmp_path / "run.h5")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes of POSIX")
@pytest.mark.parametrize("suffix", [".csv", ".npz", ".mat", ".parquet", ".h5"])
def test_pipes_and_missing_files_are_refused_without_waiting(tmp_path, suffix):
    path = tmp_path / f"run{suffix}"
    with pytest.raises(FormatError, match="cannot be read: No such file"):
        read_series(path)
    os.mkfifo(path)
    with pytest.raises(FormatError, match="no regular file"):
        read_series(path)


def test_a_mat_file_whose_parts_say_more_than_it_has_is_refused(tmp_path):
    """SciPy would ask for all that they say, up to 4 GiB."""
    from scipy.io import savemat

    path = tmp_path / "record.mat"
    for compressed in (False, True):
        savemat(path, {"t": np.arange(40.0), "q": np.arange(40.0)}, do_compression=compressed)
        good = path.read_bytes()
        assert read_series(path).t.shape == (40,)
        sizes = [132] if compressed else [132, good.index(struct.pack("<II", 9, 320)) + 4]  # of the matrix, its numbers
        for at in sizes:
            path.write_bytes(good[:at] + struct.pack("<I", 2**32 - 16) + good[at + 4 :])
            with pytest.raises(FormatError, match="are left"):
                read_series(path)


@pytest.mark.parametrize(
    ("at", "word"),
    [(128 + 48, 21), (128 + 48, 0x40015), (128 + 16, 0x806), (128 + 16, 0xFF)],
    ids=["a kind that is none", "in its tag", "a part that is missing", "a class that is none"],
)
def test_a_mat_file_that_would_end_the_process_is_refused(tmp_path, at, word):
    """SciPy looks kinds up beyond its table, and reads on in the next matrix."""
    savemat = pytest.importorskip("scipy.io").savemat
    numbers = np.linspace(0.0, 1.0, 40)
    savemat(
        tmp_path / "run.mat", {"t": numbers, "q": numbers, "empty": np.zeros((0, 3)), "text": "a", "cell": {"a": 1}}
    )
    assert "q" in read_series(tmp_path / "run.mat")
    data = bytearray((tmp_path / "run.mat").read_bytes())
    struct.pack_into("<I", data, at, word)
    (tmp_path / "run.mat").write_bytes(data)
    with pytest.raises(FormatError, match="damaged one: a "):
        read_series(tmp_path / "run.mat")


def _short(kind: int, text: bytes) -> bytes:
    """An element of a MAT file within its tag."""
    return struct.pack("<HH4s", kind, len(text), text)


def test_objects_beside_the_numbers_of_a_mat_file_are_passed_over(tmp_path):
    """As MATLAB writes texts of its newer kind and tables."""
    savemat = pytest.importorskip("scipy.io").savemat
    path = tmp_path / "run.mat"
    savemat(path, {"t": np.arange(3.0), "q": np.ones((3, 2))})
    numbers = struct.pack("<IIII", 6, 8, 13, 0) + struct.pack("<IIii", 5, 8, 1, 1) + _short(1, b"") + _short(6, b"abcd")
    parts = struct.pack("<IIII", 6, 8, 17, 0) + _short(1, b"s") + _short(1, b"MCOS") + _short(1, b"cls")
    parts += struct.pack("<II", 14, len(numbers)) + numbers
    path.write_bytes(path.read_bytes() + struct.pack("<II", 14, len(parts)) + parts)
    assert read_series(path).values.keys() == {"q"}


def test_mat_files_that_scipy_reads_are_not_damaged():
    """Those that it is tested with: of many versions of MATLAB, cells, structures, functions and objects among them."""
    matlab = pytest.importorskip("scipy.io.matlab")
    files = sorted(Path(matlab.__file__).parent.glob("tests/data/*.mat"))
    checked = 0
    for path in files:
        data = path.read_bytes()
        if data[124:128] not in (b"\0\x01IM", b"\x01\0MI"):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                matlab.loadmat(path)
            except Exception:  # files that are damaged
                continue
        assert checked_elements(data, 1 << 28) == data
        checked += 1
    assert checked > 50 or not files


def test_numbered_columns_stand_in_the_order_of_their_numbers(tmp_path):
    path = tmp_path / "record.csv"
    path.write_text("t,q_2,q_10,q_1\n0,2,10,1\n1,2,10,1\n")
    assert read_series(path).values["q"].tolist() == [[1, 2, 10]] * 2


def test_named_columns_of_all_signals_stand_in_the_order_of_the_labels(tmp_path):
    path = tmp_path / "record.csv"
    path.write_text("t,q.b,dq.a,q.a,dq.b\n0,2,30,3,20\n1,2,30,3,20\n")
    found = read_series(path)
    assert found.labels == ("b", "a")
    assert (found.values["q"].tolist(), found.values["dq"].tolist()) == ([[2, 3]] * 2, [[20, 30]] * 2)
    assert read_series(path, labels=("a", "b")).values["q"].tolist() == [[3, 2]] * 2


@pytest.mark.parametrize("head", ["t,q,q", "t,t_1,q"])
def test_columns_that_cannot_be_told_apart_are_refused(head, tmp_path):
    path = tmp_path / "record.csv"
    path.write_text(f"{head}\n0,1,2\n1,3,4\n")
    with pytest.raises(DataError, match="expected"):
        read_series(path)


def test_columns_that_nobody_asks_for_may_have_one_name_or_none(tmp_path):
    """Loggers repeat what they call the state of each axis, spreadsheets end lines with empty cells."""
    path = tmp_path / "record.csv"
    path.write_text("t,q1,status,q2,status,,\n0,1,0,2,0,,\n1,3,0,4,0,,\n")
    found = read_series(path, {"q": "q", "w": ["q2"]})
    assert (found.values["q"].tolist(), found.values["w"].tolist()) == ([[1, 2], [3, 4]], [[2], [4]])
    for signals in (None, {"s": "status"}, {"s": ["status"]}):
        with pytest.raises(DataError, match=r"two columns are called 'status'.*Rename"):
            read_series(path, signals)
    path.write_text("t,q1,q2,,\n0,1,2,,\n1,3,4,,\n")
    assert read_series(path).values.keys() == {"q"}


def test_what_holds_no_numbers_is_passed_over_in_archives_of_others(tmp_path):
    path = tmp_path / "record.npz"
    np.savez(path, t=np.arange(3.0), q=np.ones((3, 2)), names=np.array(["a", "b"]), about=np.array({"by": "me"}))
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("README.txt", "a record")
    assert read_series(path).values.keys() == {"q"}
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "record.h5"
    with h5py.File(path, "w") as file:
        file["t"], file["q"], file["nothing"] = np.arange(3.0), np.ones(3), h5py.Empty("f8")
    assert read_series(path).values.keys() == {"q"}


@pytest.mark.parametrize("cell", ["1_000", "\N{ARABIC-INDIC DIGIT ONE}", "0x10", "1,5"])
def test_what_only_python_takes_for_a_number_is_none(cell, tmp_path):
    path = tmp_path / "run.csv"
    path.write_text(f't,q\n0,"{cell}"\n1,2\n2,3\n', encoding="utf-8")
    assert np.isnan(read_series(path)["q"][0, 0])
    for rows in (f'0,"{cell}"\n1,2\n', f't,tau\n0,"{cell}"\n1,2\n', f'0,1\n1,"{cell}"\n'):
        path.write_text(rows, encoding="utf-8")
        with pytest.raises(FormatError, match="no table of numbers"):
            read_table(path, "tau", 1)


def test_instants_that_are_all_the_same_are_told(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text("t,q\n1,1\n1,2\n1,3\n")
    assert "uneven sampling" in repr(read_series(path))


def test_a_long_number_in_the_name_of_a_column_takes_no_squared_time(tmp_path):
    path = tmp_path / "record.csv"
    path.write_text(f"t,{'1' * 100_000}x\n0,1\n1,2\n")
    start = time.process_time()
    read_series(path)
    assert time.process_time() - start < 5


def test_arrays_of_one_name_in_two_groups_keep_the_names_of_these(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "record.h5"
    with h5py.File(path, "w") as file:
        for k, group in enumerate(("left", "right")):
            file[f"{group}/t"], file[f"{group}/q"] = np.arange(3.0), np.full(3, float(k))
        file["left/u"] = np.ones(3)
    found = read_series(path, {"q": "left/q", "u": "u"}, time="left/t")
    assert found.values["q"].tolist() == [[0], [0], [0]]
    with pytest.raises(DataError, match="no instants"):
        read_series(path)
