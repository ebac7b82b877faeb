"""What simulate says to wrong events, functions, sizes and files."""

import pytest

import symbody as sb
from symbody.basics.errors import DefinitionError, FormatError, ModelError, NameLookupError


def test_events_are_records():
    with pytest.raises(DefinitionError, match=r"expected When\(name, guard"):
        sb.simulate(sb.load("pendulum2"), 1.0, 0.01, events=["q.joint1"])


def test_a_function_of_nothing_is_no_input():
    with pytest.raises(DefinitionError, match=r"expected f\(t\)"):
        sb.simulate(sb.load("pendulum2"), 1.0, 0.01, inputs={"tau": lambda: 1.0})


def test_more_samples_than_memory_holds_are_refused_before_the_run():
    with pytest.raises(DefinitionError, match="Give samples="):
        sb.simulate(sb.load("pendulum2"), 1e6, 1e-3)


def test_a_foreign_file_is_no_checkpoint(tmp_path):
    path = tmp_path / "run.sh"
    path.write_text("echo no")
    with pytest.raises(FormatError, match="expected a file that simulate wrote"):
        sb.resume(path)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"method": 3}, NameLookupError),
        ({"outputs": 5}, ModelError),
        ({"outputs": {"q.joint1": "7"}}, DefinitionError),
        ({"outputs": {"tau": "7"}}, DefinitionError),
    ],
)
def test_wrong_words_are_answered_with_sentences(words, error):
    with pytest.raises(error):
        sb.simulate(sb.load("pendulum2"), 1.0, 0.01, **words)


def test_only_trajectories_and_checkpoints_are_resumed():
    with pytest.raises(DefinitionError, match="expected a Trajectory"):
        sb.resume(5)
