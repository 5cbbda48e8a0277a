import numpy as np
import pandas as pd
import pytest

from c4lib.arena.interval import wilson_interval
from c4lib.arena.match import play_block
from c4lib.arena.table import crosstable, cycles, duplicates, load, save

from .tables import duels


def test_a_table_is_kept(tmp_path):
    table, file = play_block("connect4", "random", "mcts:2", [[3], [0]], None, 1), tmp_path / "games.parquet"
    save(table.iloc[::-1], file)
    once = file.read_bytes()
    save(table, file)
    assert file.read_bytes() == once
    assert set(load(file)["moves"]) == set(table["moves"])
    assert [path.name for path in tmp_path.iterdir()] == ["games.parquet"]


def test_a_table_that_is_replaced_while_it_is_read(tmp_path, monkeypatch):
    file, read = tmp_path / "games.parquet", pd.read_parquet
    one, two = (play_block("connect4", "random", "mcts:2", [[column]], None, 1) for column in (3, 0))
    save(one, file)

    def late(source):
        save(two, file)
        return read(source)

    monkeypatch.setattr(pd, "read_parquet", late)
    assert set(load(file)["opening"]) == set(one["opening"])


def test_a_file_of_something_else_is_refused(tmp_path):
    text, other = tmp_path / "text.parquet", tmp_path / "other.parquet"
    text.write_text("no table")
    pd.DataFrame({"first": ["a"]}).to_parquet(other)
    with pytest.raises(ValueError, match="no readable table"):
        load(text)
    with pytest.raises(ValueError, match="it lacks game, second"):
        load(other)


def test_crosstable():
    cells = crosstable(duels(("a", "b", [1, 1, 0, -1]), ("c", "b", [-1, -1])))
    assert list(cells.index) == ["a", "b", "c"]
    assert cells["share"].loc["a", "b"] == 0.625
    assert cells["share"].loc["b", "a"] == 0.375
    assert cells["share"].loc["b", "c"] == 1
    assert np.isnan(cells["share"].loc["a", "c"])
    assert cells["games"].loc["c"].to_dict() == {"a": 0, "b": 2, "c": 0}
    assert cells["games"].dtypes.unique() == [int]


def test_cycles():
    sure, unsure = [1] * 18 + [-1, -1], [1, 1, 1, -1]
    table = duels(("b", "a", sure), ("a", "c", sure), ("c", "b", sure), ("a", "d", [1, -1]), ("d", "e", unsure))
    found = cycles(table)
    assert len(found) == 1
    row = found.iloc[0]
    assert {(row["a"], row["b"]), (row["b"], row["c"]), (row["c"], row["a"])} == {("b", "a"), ("a", "c"), ("c", "b")}
    assert (row["ab"], row["bc"], row["ca"]) == (0.9, 0.9, 0.9)
    assert row["low"] == pytest.approx(wilson_interval(18, 20)[0])
    assert cycles(duels(("a", "b", unsure), ("b", "c", unsure), ("c", "a", unsure)))["low"].iloc[0] < 0.5
    assert cycles(duels(("a", "b", unsure), ("b", "c", unsure), ("a", "c", unsure))).empty


def test_duplicates():
    rows = [("a", "b", "12", "3"), ("a", "b", "1", "23"), ("b", "a", "12", "3"), ("a", "b", "12", "4")]
    assert duplicates(pd.DataFrame(rows, columns=["first", "second", "opening", "moves"])) == 1
