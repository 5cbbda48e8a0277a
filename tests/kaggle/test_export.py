"""The exported file: the lab's sources as they are, the lab's moves, and an answer where everything fails."""

import ast
import base64
import subprocess
import sys
from pathlib import Path

import pytest

from c4lib import jit, paths
from c4lib.alphazero.net import AlphaZeroNet
from c4lib.alphazero.plain_net import pack
from c4lib.games.connect4 import STANDARD, Geometry
from c4lib.games.position import Position
from c4lib.kaggle import export as exporter
from c4lib.kaggle.export import export, imports, ingredients, modules, submission
from c4lib.kaggle.frame import Submission, load
from c4lib.search.book import Book
from c4lib.search.negamax import Engine, SearchOptions
from c4lib.search.perfect import PerfectPlayer

from .test_agent import seen

CONFIGURATION = {"columns": 7, "rows": 6, "inarow": 4, "actTimeout": 0.2}
EMPTY = {"board": [0] * 42, "mark": 1, "remainingOverageTime": 0.0}  # too little in the bank to compile
LIMIT = {"engine": 300_000, "perfect": 2_000_000, "alphazero": 400_000}  # bytes; Kaggle takes a hundred times as many
LATE = "7527267743225741531164553"
only_engine = pytest.mark.parametrize("agent", ["engine"], indirect=True)
only_perfect = pytest.mark.parametrize("agent", ["perfect"], indirect=True)


def execute(file: Path) -> dict:
    """The namespace of a submission, executed as Kaggle does."""
    namespace = {}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), namespace)
    return namespace


def columns_of(digits):
    """0-based columns of 1-based digits."""
    return [int(digit) - 1 for digit in digits]


@pytest.fixture(scope="module")
def file(agent, tmp_path_factory):
    return export(agent, tmp_path_factory.mktemp("export") / "submission.py")


@pytest.fixture(scope="module")
def package(file):
    """The package that the submission makes, and its modules by their dotted names."""
    namespace = execute(file)
    name, sources, entry = namespace["play"]._origin
    load(name, sources, entry)
    return {dotted: sys.modules[f"{name}.{dotted}"] for dotted in sources}


@pytest.mark.parametrize("name", ["minimax", "engine:2", "perfect:", "alphazero", ""])
def test_unknown_agent(tmp_path, name):
    known = r"known are engine, perfect, alphazero:MODEL\[@SIMULATIONS\]$"
    with pytest.raises(ValueError, match=f"no agent '{name}' to export; {known}"):
        export(name, tmp_path / "submission.py")
    assert list(tmp_path.iterdir()) == []


def test_same_sources_same_bytes(agent, file, tmp_path):
    again = export(agent, tmp_path / "again.py")
    assert again.read_bytes() == file.read_bytes()
    assert again.read_text(encoding="utf-8") == submission(agent)


def test_size_and_shape(agent, file):
    content = file.read_bytes()
    assert len(content) < LIMIT[agent.partition(":")[0]]
    assert b"\r" not in content
    assert content.startswith(b"# A player for Kaggle's ConnectX")
    assert f"`c4 export --agent {agent}`".encode() in content
    assert max(map(len, content.splitlines())) <= 180  # a docstring's first line behind the name of its module


def test_nothing_is_left_beside_the_file(agent, file, tmp_path, monkeypatch):
    output = tmp_path / "submission.py"
    output.write_text("old")
    export(agent, output)
    assert output.read_bytes() == file.read_bytes()
    output.write_text("old")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        export(agent, output)
    assert output.read_text() == "old"
    assert list(tmp_path.iterdir()) == [output]


def test_sources_are_the_labs_own(agent, file):
    sources = execute(file)["SOURCES"]
    assert list(sources) == modules(ingredients(agent)[0])
    for name, text in sources.items():
        assert text.encode() == paths.PACKAGE.joinpath(*name.split(".")).with_suffix(".py").read_bytes()


def test_data_files_are_the_labs_own(agent, file):
    """Byte for byte."""
    found = {name: base64.b64decode(text) for name, text in execute(file)["FILES"].items()}
    assert found == ingredients(agent)[1]
    expected = {
        "engine": {},
        "perfect": {"connect4.book": paths.BOOK.read_bytes()},
        "alphazero": {"network.npz": pack(AlphaZeroNet.load(paths.MODELS / "connect4.safetensors"))}
        | {"simulations.txt": b"40"},
    }
    assert found == expected[agent.partition(":")[0]]


def test_another_data_file_another_digest(tmp_path, monkeypatch):
    """So that a process that has loaded the one package does not use it for the other."""
    texts = []
    monkeypatch.setattr(paths, "BOOK", tmp_path / "connect4.book")
    for content in (b"one", b"two"):
        (tmp_path / "connect4.book").write_bytes(content)
        texts.append(submission("perfect"))
    packages = [next(line for line in text.splitlines() if line.startswith("play = ")) for text in texts]
    assert packages[0] != packages[1]


def test_a_missing_data_file_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "BOOK", tmp_path / "connect4.book")
    with pytest.raises(FileNotFoundError):
        export("perfect", tmp_path / "submission.py")
    assert list(tmp_path.iterdir()) == []


def test_modules_in_the_order_of_their_imports(agent):
    entry, _ = ingredients(agent)
    order = modules(entry)
    assert order[-1] == entry
    assert {"jit", "bits", "games.connect4", "search.evaluation", "search.negamax", "kaggle.agent"} <= set(order)
    assert ({"lanes", "search.nullwindow", "search.solver", "search.book"} <= set(order)) == (agent == "perfect")
    assert not {"paths", "progress"} & set(order)  # imported inside functions
    for i, name in enumerate(order):
        assert set(imports(name)) <= set(order[:i])


def test_imports(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "PACKAGE", tmp_path)
    (tmp_path / "games").mkdir()
    for name in ("bits", "jit", "games/base"):
        (tmp_path / f"{name}.py").write_text('"""."""\n')
    (tmp_path / "games" / "chess.py").write_text(
        "import os\nfrom .. import bits\nfrom .base import Game\n"
        "try:\n    from ..jit import kernel\nexcept ImportError:\n    pass\n"
        "def late():\n    from .. import paths\n"
    )
    (tmp_path / "agent.py").write_text("from .games import base\n")
    assert set(imports("games.chess")) == {"bits", "games.base", "jit"}
    assert list(imports("agent")) == ["games.base"]
    (tmp_path / "bits.py").write_text("x = '''no'''\n")
    with pytest.raises(ValueError, match="bits cannot be exported"):
        modules("games.chess")


def test_last_callable_is_agent(file):
    namespace = execute(file)
    assert [value for value in namespace.values() if callable(value)][-1] is namespace["agent"]
    assert namespace["agent"].__code__.co_argcount == 2


def test_no_disk_cache(file, package):
    assert package["jit"].cache_folder() is None
    tree = ast.parse(file.read_text(encoding="utf-8"))
    assert not [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "__file__"]


@only_engine
@pytest.mark.parametrize(("depth", "compiled"), [(10, True), (4, False)])
def test_moves_are_the_labs(package, depth, compiled):
    exported = package["search.negamax"]
    assert exported.Engine is not Engine
    ours, theirs = (
        module_engine(geometry, options(table_bits=16), compiled=compiled)
        for module_engine, options, geometry in (
            (Engine, SearchOptions, STANDARD),
            (exported.Engine, exported.SearchOptions, package["games.connect4"].STANDARD),
        )
    )
    assert theirs.compiled == ours.compiled == (compiled and jit.HAVE_NUMBA)
    for own, opp in ((0, 0), (1 << 21, 1 << 22), (0b11 << 14, 1 << 7 | 1 << 28), (0b101 << 21 | 1, 0b1010 << 21)):
        a, b = (engine.search(own, opp, depth=depth) for engine in (ours, theirs))
        assert (a.move, a.score, a.nodes) == (b.move, b.score, b.nodes)


@only_perfect
@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_perfect_moves_are_the_labs(file, package, compiled):
    """Early ones by the book, late ones by the solver, and compiled also some between."""
    exported, content = package["search.perfect"], execute(file)["FILES"]["connect4.book"]
    assert exported.PerfectPlayer is not PerfectPlayer
    ours = PerfectPlayer(STANDARD, Book.load(paths.BOOK), table_bits=16, compiled=compiled)
    book = package["search.book"].Book.from_bytes(base64.b64decode(content))
    theirs = exported.PerfectPlayer(package["games.connect4"].STANDARD, book, table_bits=16, compiled=compiled)
    late = [LATE, LATE[:22], "67146741546534737745553317522", "726121757731322623771565561331235"]
    between = ["12345671234567", "44444322", "4453112266"] if compiled else []
    for moves in ["", "4", "44", "1", "7", "444", *late, *between]:
        position = Position.from_moves(moves)
        a, b = (player.search(*position.boards, seconds=60.0) for player in (ours, theirs))
        assert (a.move, a.source, a.score) == (b.move, b.source, b.score)
        assert moves in between or a.source == ("solver" if moves in late else "book")


@only_perfect
def test_the_whole_submission_plays_by_book_and_solver(file):
    namespace = execute(file)
    ours = PerfectPlayer(STANDARD, Book.load(paths.BOOK), table_bits=16, compiled=False)
    for moves in ("4", "47", "444", "726121757731322623771565561331235", LATE):
        observation = seen(*columns_of(moves), bank=0.0)
        move = namespace["agent"](observation, CONFIGURATION | {"actTimeout": 10.0})
        assert move == ours.search(*Position.from_moves(moves).boards, seconds=8.0).move
    assert namespace["play"]._player.failures == []


@only_perfect
@pytest.mark.parametrize("damage", ["gone", "cut", "changed", "no base64"])
def test_a_damaged_data_file_costs_no_game(file, damage, capsys):
    """Then solver and engine play without the book."""
    namespace = execute(file)
    files, name = namespace["FILES"], "connect4.book"
    damaged = {"cut": files[name][:-400], "changed": files[name][:-9] + "AAAA" + files[name][-5:], "no base64": "=é="}
    if damage == "gone":
        del files[name]
    else:
        files[name] = damaged[damage]
    exact = namespace["agent"](seen(*columns_of(LATE), bank=0.0), CONFIGURATION | {"actTimeout": 10.0})
    early = namespace["agent"](seen(3, 3, bank=0.0), CONFIGURATION)
    assert (exact, type(early)) == (3, int)
    assert early in range(7)
    player = namespace["play"]._player
    assert len(player.failures) == 2  # one a seat
    assert all(isinstance(failure, KeyError if damage == "gone" else ValueError) for failure in player.failures)
    sources = [seat.engine.sources for seat in player._seats.values()]
    assert sources == [{"solver": 1}, {"engine": 1}]
    assert capsys.readouterr().err


@only_perfect
@pytest.mark.parametrize("size", [(1, 1, 1), (4, 5, 3), (8, 7, 4), (20, 20, 4)], ids=str)
def test_the_engine_plays_on_other_boards(file, size):
    columns, rows, inarow = size
    namespace = execute(file)
    configuration = CONFIGURATION | {"columns": columns, "rows": rows, "inarow": inarow}
    for moves in ((), (0,), (0, columns - 1))[: 1 if size == (1, 1, 1) else 3]:
        observation = seen(*moves, columns=columns, rows=rows, bank=0.0)
        assert namespace["agent"](observation, configuration) in range(columns)
    player = namespace["play"]._player
    assert player.failures == []
    assert {source for seat in player._seats.values() for source in seat.engine.sources} <= {"engine"}


def test_a_package_is_loaded_once(agent, file, package):
    first, second = execute(file), execute(file)
    for namespace in (first, second):
        assert namespace["agent"](EMPTY, CONFIGURATION) in range(7)
    players = [namespace["play"]._player for namespace in (first, second)]
    assert players[0] is not players[1]
    assert type(players[0]) is type(players[1]) is package[ingredients(agent)[0]].Player
    assert not any(player.failures for player in players)
    kernels = [
        package["search.negamax"].Engine(package["games.connect4"].Geometry(4, 4, 3), compiled=False).kernel
        for _ in "12"
    ]
    assert kernels[0] is kernels[1]


def test_plays_without_numba_or_the_lab(file, tmp_path):
    code = (
        "import sys\n"
        "sys.modules['numba'] = sys.modules['c4lib'] = None\n"
        "space = {}\n"
        "exec(open(sys.argv[1], encoding='utf-8').read(), space)\n"
        f"move = space['agent']({EMPTY | {'remainingOverageTime': 60.0}!r}, {CONFIGURATION!r})\n"
        "player = space['play']._player\n"
        "engines = [getattr(seat.engine, '_engine', seat.engine) for seat in player._seats.values()]\n"
        "print(type(move).__name__, player.failures, [getattr(engine, 'compiled', False) for engine in engines])\n"
    )
    command = [sys.executable, "-c", code, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.split() == ["int", "[]", "[False]"]
    assert done.stderr == ""


# --- the frame, with little modules of its own ----------------------------------------------------------------------

GOOD = {
    "low": "def three():\n    return 3\n",
    "games.middle": "from ..low import three\n",
    "kaggle.agent": (
        "from ..games.middle import three\n"
        "class Player:\n    def __init__(self, started, files): pass\n"
        "    def __call__(self, observation, configuration): return three()\n"
    ),
}
FULL_CENTRE = {"board": [0, 0, 0, 1, 0, 0, 0] + [1] * 35, "mark": 1}


def test_load_resolves_relative_imports(name):
    module = load(name, GOOD, "kaggle.agent")
    assert module.__name__ == "c4lib_test.kaggle.agent"
    assert module.three.__module__ == "c4lib_test.low"
    assert load(name, {}, "kaggle.agent") is module


@pytest.mark.parametrize("broken", ["raise RuntimeError('broken on purpose')\n", "def (:\n", "import no_such_module\n"])
def test_nothing_stays_of_a_package_that_fails_to_load(name, broken, capsys):
    play = Submission(name, GOOD | {"games.middle": broken}, "kaggle.agent")
    assert play(FULL_CENTRE, CONFIGURATION) == 2
    assert not [module for module in sys.modules if module.startswith(name)]
    assert "c4lib_test/games/middle.py" in capsys.readouterr().err or "def" in broken
    assert play(EMPTY, CONFIGURATION) == 3  # without another attempt
    assert capsys.readouterr().err == ""
    assert load(name, GOOD, "kaggle.agent").three() == 3


def test_a_failing_player_costs_no_game_and_is_told(name, capsys):
    play = Submission(name, GOOD | {"low": "def three():\n    return 1 // 0  # here\n"}, "kaggle.agent")
    for _ in range(2):
        move = play(FULL_CENTRE, CONFIGURATION)
        assert (type(move), move) == (int, 2)
        said = capsys.readouterr().err
        assert 'File "<c4lib_test/low.py>", line 2, in three' in said
        assert "return 1 // 0  # here" in said


def test_a_closed_standard_error_is_survived(name, monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert Submission(name, {"kaggle.agent": "oops"}, "kaggle.agent")(EMPTY, CONFIGURATION) == 3


def test_exportable_agents_exist():
    for entry, _ in exporter.AGENTS.values():
        assert "class Player" in exporter.read(entry)
    assert Geometry() == STANDARD
