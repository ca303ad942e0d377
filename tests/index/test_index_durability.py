"""Small runs of the scripts that kill syncs and that read beside a writer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
ROOT = str(SCRIPTS.parent)


@pytest.mark.skipif(os.name != "posix", reason="no SIGKILL there")
@pytest.mark.parametrize(
    "argv",
    [
        ("measure_kills.py", "--moments", "10", "--rows", "60"),
        ("measure_readers.py", "--seconds", "5", "--processes", "2", "--rows", "100"),
    ],
    ids=lambda argv: argv[0],
)
def test_it_holds(argv: tuple[str, ...]) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([ROOT, os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / argv[0]), *argv[1:]],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
