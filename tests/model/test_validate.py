"""Bad files give one sentence with file and line, never anything else."""

from __future__ import annotations

import random

import numpy as np
import pytest

from helpers.bad_model_files import BAD, GOOD
from symbody.basics.errors import ModelError, NameLookupError, SymbodyError
from symbody.model.build.builder import Builder
from symbody.model.files.yaml_data import read_yaml
from symbody.model.files.yaml_file import read_text
from symbody.model.load import load


def test_the_good_file_is_good(tmp_path):
    path = tmp_path / "arm.yaml"
    path.write_text(GOOD)
    arm = load(path)
    assert [j.name for j in arm.joints] == ["shoulder", "elbow"]
    assert arm.joint("elbow").origin == "arm.yaml:27"


@pytest.mark.parametrize("what", BAD)
def test_a_bad_file_gives_one_sentence_with_file_and_line(what, tmp_path):
    old, new, line, words = BAD[what]
    assert GOOD.count(old) >= 1, "the change must apply"
    path = tmp_path / "arm.yaml"
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(ModelError) as error:
        load(path)
    text = str(error.value)
    assert text.startswith(f"arm.yaml:{line}: "), text
    assert "\n" not in text
    for word in words:
        assert word in text, text


def test_a_mistake_in_an_included_file_is_found_there(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "hand.yaml").write_text("bodies:\n  hand: {mass: -1}\n")
    (tmp_path / "arm.yaml").write_text(
        "include: parts/hand.yaml\njoints:\n  j: {kind: free, parent: world, child: hand}\n"
    )
    with pytest.raises(ModelError, match=r"^parts/hand.yaml:2: body 'hand' has mass -1"):
        load(tmp_path / "arm.yaml")


def test_includes_are_confined_even_through_links(tmp_path):
    outside = tmp_path / "outside.yaml"
    outside.write_text("bodies:\n  hand:\n")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link.yaml").symlink_to(outside)
    (tmp_path / "in" / "arm.yaml").write_text("include: link.yaml\n")
    with pytest.raises(ModelError, match="outside the folder"):
        load(tmp_path / "in" / "arm.yaml")


def test_included_values_are_overridden_by_the_including_file(tmp_path):
    (tmp_path / "arm.yaml").write_text(GOOD)
    (tmp_path / "heavy.yaml").write_text("include: arm.yaml\nname: heavy\nparameters:\n  m1: 7\n")
    heavy = load(tmp_path / "heavy.yaml")
    assert heavy.name == "heavy"
    assert heavy.parameters["m1"].data.default == 7
    assert heavy.parameters["l1"].data.default == 0.5


def test_aliases_of_aliases_are_bounded():
    lines = ["a0: &a0 [1, 2, 3, 4, 5, 6, 7, 8, 9]"]
    lines += [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, 12)]
    with pytest.raises(ModelError, match=r"^bomb.yaml:\d+: \d+ values stand behind aliases"):
        read_yaml("\n".join(lines), "bomb.yaml")


def test_an_alias_cannot_contain_itself():
    with pytest.raises(ModelError, match="no anchor"):
        read_yaml("a: &a [*a]", "self.yaml")


def test_deep_nesting_is_refused():
    with pytest.raises(ModelError, match="deep"):
        read_yaml("[" * 100_000, "deep.yaml")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("y", "y"),
        ("no", "no"),
        ("on", "on"),
        ("1e-3", 1e-3),
        ("017", 17),
        ("1:30", "1:30"),
        ("~", None),
        ("'1'", "1"),
        ("", None),
    ],
)
def test_scalars_are_read_as_yaml_1_2_does(text, value):
    assert read_yaml(f"a: {text}", "x")["a"] == value


@pytest.mark.parametrize(
    "content", [b"\xff\xfe\x00", b"a: \x00", b"", b"[1, 2]", b'name: "\\UFFFFFFFF"', b"%YAML 9.9\n---\na: 1"]
)
def test_what_is_no_model_at_all_is_refused(content, tmp_path):
    path = tmp_path / "odd.yaml"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"^odd\.yaml"):
        load(path)


def test_unknown_names_and_files_are_named():
    with pytest.raises(NameLookupError, match="'puma560'"):
        load("puma56")
    with pytest.raises(ModelError, match=r"there is no file '\.\./bundled/puma560'"):
        load("../bundled/puma560")
    with pytest.raises(ModelError, match="no file"):
        load("nowhere.yaml")


def test_numbers_that_are_not_finite_are_refused_by_the_builder():
    for value in (np.nan, np.inf, -np.inf, "1e999", "inf", "nan", "0*inf"):
        with pytest.raises(ModelError):
            Builder("arm").body("a", mass=value)


def test_nothing_is_half_loaded():
    """A Builder that refuses a piece does not keep it."""
    builder = Builder("arm").body("a")
    with pytest.raises(ModelError):
        builder.body("b", mass="x")
    arm = builder.joint("j", "revolute", "world", "a").done()
    assert [b.name for b in arm.bodies] == ["a"]


def test_a_planar_model_may_know_one_moment_only():
    Builder("arm").body("a", inertia=(0, 1, 0)).joint("j", "revolute", "world", "a", axis="y").done()


def test_an_unphysical_tensor_needs_consent():
    builder = Builder("arm").body("a", inertia=(1, 2, 4), physical=False).joint("j", "revolute", "world", "a")
    assert not builder.done().body("a").physical


def test_random_mutations_give_a_model_or_an_error_of_ours():
    """Fuzz: characters and lines of a good file are deleted, doubled, swapped and overwritten."""
    rng = random.Random(20260101)
    marks = [
        ":",
        "-",
        "[",
        "]",
        "{",
        "}",
        "&a",
        "*a",
        "!x",
        "'",
        '"',
        "#",
        "|",
        ">",
        "%",
        "@",
        "`",
        "?",
        "<<",
        "**",
        "(",
    ]
    odd = [*marks, "\t", "\x00", "\u2028", "1e999", "null", "true", "~", "..", "auto", "world", "t", "e", "9" * 30]
    lines = GOOD.splitlines()
    sentences, models = [], 0
    for _ in range(300):
        mutant = list(lines)
        for _ in range(rng.randint(1, 3)):
            k = rng.randrange(len(mutant))
            line = mutant[k]
            at = rng.randrange(len(line) + 1)
            deed = rng.randrange(6)
            if deed == 0:
                del mutant[k]
            elif deed == 1:
                mutant.insert(k, line)
            elif deed == 2:
                other = rng.randrange(len(mutant))
                mutant[k], mutant[other] = mutant[other], mutant[k]
            elif deed == 3:
                mutant[k] = line[:at] + rng.choice(odd) + line[at:]
            elif deed == 4:
                mutant[k] = line[:at] + line[at + rng.randint(1, 4) :]
            else:
                key, colon, _ = line.partition(": ")
                mutant[k] = key + colon + rng.choice(odd)
            if not mutant:
                break
        try:
            read_text("\n".join(mutant), "mutant.yaml")
            models += 1
        except SymbodyError as error:
            sentences.append(str(error))
    assert all(s.startswith("mutant.yaml") and "\n" not in s for s in sentences)
    assert len(sentences) > 150
    assert models > 10


@pytest.mark.parametrize("length", [1e61, -1e200, 1e308])
def test_numbers_whose_squares_overflow_are_refused(length):
    """LAPACK failed in the assembly of loops."""
    b = Builder("far").body("a", 1, frames={"tip": (length, 0, 0)}).joint("j", "revolute", "world", "a")
    with pytest.raises(ModelError, match=r"position of frame 'tip' of body 'a' contains .*expected numbers below"):
        b.done()
