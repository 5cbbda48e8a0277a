"""Progress bars: drawn, unless the environment says no."""

import pytest

from c4lib.progress import bar


@pytest.mark.parametrize(("value", "silent"), [("0", True), ("1", False)])
def test_switch(monkeypatch, capsys, value, silent):
    monkeypatch.setenv("C4_PROGRESS", value)
    assert list(bar(range(3))) == [0, 1, 2]
    assert (capsys.readouterr().err == "") == silent
