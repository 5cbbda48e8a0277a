"""README.md says what is so."""

import csv
import re
import runpy
import shlex
import shutil
from itertools import pairwise
from math import sqrt

import click
import nbformat
import pytest
from nbformat.v4 import new_markdown_cell, new_notebook

from c4lib import paths, readme, results
from c4lib.cli import c4

TEXT = readme.README.read_text(encoding="utf-8")
FENCED = re.findall(r"^```\w*\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
INDENTED = re.findall(r"^    .*$", TEXT, re.MULTILINE)
CODE = "\n".join([*FENCED, *INDENTED, *re.findall(r"`([^`\n]+)`", TEXT)])
COMMANDS = sorted(set(re.findall(r"^ *(c4 .+)$", CODE, re.MULTILINE)))


def marked(name):
    """A generated part of README.md."""
    return TEXT.partition(f"<!-- {name} -->\n")[2].partition(f"<!-- /{name} -->")[0]


def found(text):
    """What the table of results has found in its only row with this text."""
    [row] = [row for row in marked("results").splitlines() if text in row]
    return row.split(" | ")[1]


def rows(file):
    """A file in data/, a dictionary for each row."""
    with (paths.DATA / file).open(newline="", encoding="utf-8") as text:
        return list(csv.DictReader(text))


def test_generated_parts_are_up_to_date():
    assert readme.updated(TEXT) == TEXT, "run `make readme`"


@pytest.mark.parametrize("name", ["results", "sets"])
def test_a_number_changed_by_hand_is_put_right(name):
    changed = re.sub(r"\d(?=\D*$)", lambda digit: str((int(digit[0]) + 1) % 10), marked(name))
    assert changed != marked(name)
    assert readme.updated(TEXT.replace(marked(name), changed)) == readme.updated(TEXT)


def test_results_follow_the_files(monkeypatch, tmp_path):
    for name in ("results", "models"):
        shutil.copytree(paths.DATA / name, tmp_path / name, ignore=shutil.ignore_patterns("*.safetensors"))
    monkeypatch.setattr(paths, "DATA", tmp_path)
    file = tmp_path / "results/solver/empty_board.csv"
    file.write_text(
        "question,seconds,nodes,peer_seconds,peer_nodes,ratio\n"
        'exact score,1.234,1,5,1,0.2\n"win, draw or loss",0.5,1,6,1,0.1\n',
        encoding="utf-8",
    )
    assert "| 1.23 s (BitBully: 5 s) |" in results.results_table()
    assert "| 500 ms (BitBully: 6 s) |" in results.results_table()


def test_results_of_the_solver_by_other_arithmetic():
    exact, outcome = rows("results/solver/empty_board.csv")
    for claim, row in (("Solving the empty board", exact), ("... only who wins", outcome)):
        ours, theirs = map(float, re.fullmatch(r"([\d.]+) s \(BitBully: ([\d.]+) s\)", found(claim)).groups())
        assert ours == pytest.approx(float(row["seconds"]), rel=0.005)
        assert theirs == pytest.approx(float(row["peer_seconds"]), rel=0.005)
    hardest = max(rows("results/solver/sets.csv"), key=lambda row: float(row["mean"]))
    ours, theirs = (1000 * float(hardest[name]) for name in ("mean", "peer_mean"))
    said = re.match(r"([\d.]+) ms \(BitBully: ([\d.]+) ms\), (0\.\d\d) of its time", found("Solving a position"))
    assert [*map(float, said.groups())] == pytest.approx([ours, theirs, ours / theirs], rel=0.02)
    assert f"mean of {hardest['positions']} positions of {hardest['set']}" in found("Solving a position")


def test_results_of_the_perfect_player_by_other_arithmetic():
    games = rows("results/perfect/games.csv")
    losses = [int(loss) for game in games for loss in game["losses"].split()]
    first = [float(game["result"]) for game in games if game["seat"] == "1"]
    assert found("`perfect` against").startswith(
        f"{sum(map(bool, losses))} mistakes in {len(losses):,} moves of {len(games):,} games; "
        f"moving first {first.count(1.0)} of {len(first)} won;"
    )


@pytest.mark.parametrize(
    ("file", "seats"),
    [
        ("models/connect4/minimax8_100.csv", ("1", "-1")),
        ("models/connect4/minimax8_600.csv", ("1", "-1")),
        ("results/alphazero/minimax8_perfect.csv", ("1", "-1")),
        ("models/connect4/empty_perfect.csv", ("1",)),
        ("models/othello6/minimax4.csv", ("1", "-1")),
        ("models/othello6/greedy.csv", ("1", "-1")),
        ("models/othello/minimax4.csv", ("1", "-1")),
        ("models/othello/greedy.csv", ("1", "-1")),
    ],
)
def test_results_of_matches_by_other_arithmetic(file, seats):
    played = [row["result"] for row in rows(file) if row["seat"] in seats]
    games, won, drawn, lost = len(played), *map(played.count, ("1", "0", "-1"))
    assert (games, won + drawn + lost) == (len(rows(file)) * len(seats) // 2,) * 2
    said = re.fullmatch(rf"{won} won, {drawn} drawn, {lost} lost: ([\d.]+) \(([\d.]+) to ([\d.]+)\)", found(file))
    share, low, high = map(float, said.groups())
    assert share == pytest.approx((won + drawn / 2) / games, abs=0.0006)
    for bound in (low, high):  # Wilson: a true share whose standard errors from what was seen are 1.96
        error = 1.96 * sqrt(bound * (1 - bound) / games)
        assert abs(bound - (won + drawn / 2) / games) == pytest.approx(error, abs=0.002)
    assert low < high


def test_results_of_moves_by_other_arithmetic():
    scores = {row["moves"]: row for row in rows("benchmark/real_play.csv")}
    moves = [row for row in rows("results/alphazero/moves.csv") if row["set"] == "real_play"]
    shares = []
    for agent in ("alphazero:connect4@0", "alphazero:connect4@100", "alphazero:connect4@600"):
        kept = 0
        for row in moves:
            position = scores[row["moves"]]
            before, after = int(position["score"]), int(position[f"c{row[agent]}"])
            kept += after > 0 if before > 0 else after == 0 if before == 0 else True
        shares.append(f"{100 * kept / len(moves):.1f}")
    assert re.findall(r"([\d.]+) %", found("AlphaZero's moves that keep")) == shares


def test_results_of_the_tournament_by_other_arithmetic():
    table = {row["player"]: row for row in rows("results/arena/ratings.csv")}
    names = [f"alphazero:connect4@{simulations}" for simulations in (400, 100, 0)]
    chosen = [table[name] for name in ("perfect", *names, "mcts:1000", "random")]
    numbers = [float(row[column]) for row in chosen for column in ("rating", "low", "high")]
    said = [int(number) for number in re.findall(r"[+-]\d+", found("Elo on one scale"))]
    assert said == pytest.approx(numbers, abs=0.5)
    assert float(table["minimax:8"]["rating"]) == 0


def test_results_on_kaggle_by_other_arithmetic():
    table = [row for row in rows("results/kaggle/episodes.csv") if row["episodes"]]
    counts = [sum(int(row[name]) for row in table) for name in ("episodes", "won", "drawn", "lost")]
    slowest = max(float(row["slowest_later"]) for row in table)
    text = found("`perfect` as a submission")
    said = re.match(r"(\d+) episodes: (\d+) won, (\d+) drawn, (\d+) lost; no error, time-out or illegal move; ", text)
    assert [int(number) for number in said.groups()] == counts
    assert {row["passed"] for row in table} == {"1"}
    assert counts[0] == sum(counts[1:]) >= 500
    last, unit = re.search(r"no later one over ([\d.]+) (\w+)$", text).groups()
    assert float(last) * {"s": 1, "ms": 1e-3}[unit] == pytest.approx(slowest, rel=0.005)


def test_results_of_self_play_by_other_arithmetic():
    runs = {row["what"]: row for row in rows("results/alphazero/self_play.csv")}
    speeds = [float(runs["self-play, no cache"][name]) for name in ("evaluations", "simulations")]
    positions, simulations = (
        int(text.replace(",", "")) for text in re.findall(r"([\d,]+) \w+/s", found("Self-play on"))
    )
    assert [positions, simulations] == pytest.approx(speeds, abs=0.5)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1234.0, "1,230 s"),
        (36.9943, "37 s"),
        (0.9996, "1 s"),
        (0.99949, "999 ms"),
        (0.00122847, "1.23 ms"),
        (2.67688e-06, "2.68 µs"),
        (1.31e-07, "131 ns"),
    ],
)
def test_durations(seconds, text):
    assert results.duration(seconds) == text


def test_commands_of_the_results_make_files_that_are_there():
    for result in results.RESULTS:
        words = shlex.split(result.command)
        [target] = [after for option, after in pairwise(words) if option in ("-o", "--save")]
        assert (paths.ROOT / target).exists(), target


def test_every_linked_file_exists():
    links = re.findall(r"\]\(([^)\s]+)\)|src=\"([^\"]+)\"", TEXT)
    files = {link for pair in links for link in pair if link and "://" not in link}
    assert "figures/01_two_integers.svg" in files
    assert {file for file in files if not (paths.ROOT / file).exists()} == set()


def test_every_make_target_exists():
    makefile = (paths.ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = set(re.findall(r"^ *make ([a-z-]+)", CODE, re.MULTILINE))
    assert {"reproduce", "test"} <= named <= targets


@pytest.fixture
def parse(monkeypatch, tmp_path):
    """Reads a command line as `c4` does, and runs nothing."""

    def silence(group):
        for command in group.commands.values():
            if isinstance(command, click.Group):
                silence(command)
            else:
                monkeypatch.setattr(command, "callback", lambda **options: None)

    silence(c4)
    monkeypatch.chdir(tmp_path)
    for name in ("submission", "engine", "alphazero", "seed"):  # what must exist for `c4 check`
        (tmp_path / f"{name}.py").touch()
    for folder in (paths.DATA / "results").glob("*/"):  # and for `c4 bench --save`
        (tmp_path / folder.relative_to(paths.ROOT)).mkdir(parents=True, exist_ok=True)
    return lambda line: c4.main(shlex.split(line, comments=True)[1:], standalone_mode=False)


def test_some_commands_are_found():
    assert {"c4 export --agent perfect -o submission.py", *(result.command for result in results.RESULTS)} <= {
        *COMMANDS
    }


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_can_be_read(parse, line):
    try:
        parse(line)
    except click.MissingParameter:
        assert len(line.split()) == 2, "a command may be named without its arguments, but not with some of them"


@pytest.mark.parametrize("line", ["c4 nosuch", "c4 solve 4453 --nosuch", "c4 grade perfect", "c4 rate a.parquet b"])
def test_commands_that_do_not_exist_are_seen(parse, line):
    with pytest.raises(click.UsageError):
        parse(line)


def test_the_layout_names_every_file():
    package = paths.ROOT / "c4lib"
    files = {file.relative_to(package).as_posix() for file in package.rglob("*.py") if file.name != "__init__.py"}
    assert files == set(re.findall(r"^[ \d]{3}(\S+\.py) +\S", readme.layout(), re.MULTILINE))


def test_the_example_runs(tmp_path, capsys):
    [example] = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    (tmp_path / "example.py").write_text(example, encoding="utf-8")
    runpy.run_path(str(tmp_path / "example.py"))
    assert capsys.readouterr().out


def test_notebook_table(monkeypatch, tmp_path):
    monkeypatch.setattr(readme, "SHOWN", {"01": ("win_test", "tree", "not_there"), "02": ("not_there",)})
    for folder in ("notebooks", "figures"):
        (tmp_path / folder).mkdir()
    for name in ("01_a.svg", "01_tree.png", "01_tree.svg", "01_win_test.png", "02_b.svg", "02_c.svg", "01_data.csv"):
        (tmp_path / "figures" / name).touch()
    for stem in ("01_bits", "02_other", "03_bare"):
        cells = [new_markdown_cell(f"Some words.\n\n# What is {stem}?\n\n## Part")]
        nbformat.write(new_notebook(cells=cells), tmp_path / f"notebooks/{stem}.ipynb")
    assert readme.notebook_table(tmp_path).splitlines()[2:] == [
        "| 01 | [What is 01_bits?](notebooks/01_bits.ipynb) | "
        '[<img src="figures/01_win_test.png" width="200" alt="win test">](figures/01_win_test.png) | '
        '[<img src="figures/01_tree.svg" width="200" alt="tree">](figures/01_tree.svg) |',
        "| 02 | [What is 02_other?](notebooks/02_other.ipynb) | "
        '[<img src="figures/02_b.svg" width="200" alt="b">](figures/02_b.svg) |  |',
        "| 03 | [What is 03_bare?](notebooks/03_bare.ipynb) |  |  |",
    ]


def test_marks_are_missed():
    with pytest.raises(ValueError, match="lacks the marks <!-- results -->"):
        readme.updated("no marks")
