"""Every command of the command line is in the README."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlrag_dspy.cli import HOMES


@pytest.mark.parametrize("command", HOMES)
def test_the_readme_shows_the_command(command):
    readme = Path(__file__).parents[2] / "README.md"
    assert f"sqlrag {command}" in readme.read_text(encoding="utf-8")
