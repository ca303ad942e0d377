"""`sqlrag index --watch` as a process: it keeps the index fresh, outlives a lock, and ends on Ctrl-C."""

from __future__ import annotations

import json
import os
import queue
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import pytest

PATIENCE = 120


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is another thing there")
def test_a_watcher_picks_up_changes_outlives_a_lock_and_ends_on_ctrl_c(stories, monkeypatch):
    monkeypatch.setenv("SQLRAG_EMBEDDER", "wordllama")
    watcher = subprocess.Popen(
        [sys.executable, "-m", "sqlrag_dspy.cli", "index", "--watch", "0.2", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A suite started in a shell's background passes on that Ctrl-C is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    told, complaints = queue.Queue(), queue.Queue()
    for stream, lines in ((watcher.stdout, told), (watcher.stderr, complaints)):
        threading.Thread(target=lambda s=stream, q=lines: [q.put(line) for line in s], daemon=True).start()

    def until(wanted):
        """Reads reports until one is as wanted."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            report = json.loads(told.get(timeout=PATIENCE))
            if wanted(report):
                return report
        raise AssertionError("no such report")

    try:
        assert until(lambda report: report["added"])["added"] == 5
        connection = sqlite3.connect(stories / "stories.db", isolation_level=None)
        connection.execute("UPDATE story SET body = 'The canal was filled in.' WHERE id = 2")
        assert until(lambda report: report["changed"])["changed"] == 1
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("DELETE FROM story WHERE id = 3")
        os.utime(stories / "stories.db")  # a file that nobody changed is not read, and so its lock not met
        complaint = complaints.get(timeout=PATIENCE)
        assert "locked" in complaint
        connection.execute("COMMIT")
        connection.close()
        assert until(lambda report: report["deleted"])["rows_seen"] == 4
        watcher.send_signal(signal.SIGINT)
        assert watcher.wait(timeout=PATIENCE) == 0
        rest = list(complaints.queue)
        assert not any("Traceback" in line for line in rest), rest
    finally:
        watcher.kill()
        watcher.wait()
