"""The command line called inside the test, as a stranger would call it."""

import pytest
from typer.testing import CliRunner

from symbody.show.cli.app import app


@pytest.fixture
def call():
    """call("info", "puma560") -> result with exit_code, stdout, stderr; anything but an exit is a failure."""
    runner = CliRunner()

    def run(*words, **options):
        result = runner.invoke(app, [str(w) for w in words], **options)
        assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
        return result

    return run


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder as the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
