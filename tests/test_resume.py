"""Files that survive a kill; that worker processes end with their parent is tested where long commands are killed."""

import os
import subprocess
import sys

import pytest

from c4lib.resume import write_text


@pytest.mark.skipif(os.name != "posix", reason="elsewhere a process cannot be asked whether it lives")
def test_what_killed_writers_left_is_taken_away(tmp_path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    file = tmp_path / "games [new].csv"
    left = f"{file.name}.{ended.pid}.part"
    others = {
        f"{file.name}.{os.getppid()}.part",  # its writer lives
        f"{file.name}.1.part",  # another user's, where this one is not root
        f"{file.name}.{10**30}.part",
        f"{file.name}.old.part",
        f"{file.name}.{ended.pid}",
        f"moves.csv.{ended.pid}.part",
    }
    for name in {left} | others:
        (tmp_path / name).touch()
    write_text(file, "whole")
    assert {path.name for path in tmp_path.iterdir()} == others | {file.name}
    assert file.read_text() == "whole"
