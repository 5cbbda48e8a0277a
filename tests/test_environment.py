"""pyproject.toml is the one list of dependencies; environment.yml and constraints.txt say the same."""

import tomllib
from itertools import chain

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from c4lib import paths

CONDA_NAMES = {"ray-core": "ray"}  # where conda-forge calls a package otherwise
CONDA_ONLY = {"pip"}

PROJECT = tomllib.loads((paths.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENVIRONMENT = (paths.ROOT / "environment.yml").read_text(encoding="utf-8")
CONSTRAINTS = (paths.ROOT / "constraints.txt").read_text(encoding="utf-8")


def required() -> dict[str, Requirement]:
    """Every dependency of the project, those of the extras too, by name."""
    lines = chain(PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    return {canonicalize_name(requirement.name): requirement for requirement in map(Requirement, lines)}


def pins() -> dict[str, str]:
    """The versions in constraints.txt by name."""
    lines = (line.partition("#")[0].strip() for line in CONSTRAINTS.splitlines())
    pairs = (line.split("==") for line in lines if line)
    return {canonicalize_name(name): version for name, version in pairs}


def test_environment_equals_pyproject():
    *conda, last = yaml.safe_load(ENVIRONMENT)["dependencies"]
    *from_pypi, project = last["pip"]
    assert project == "-e ."
    found = {}
    for requirement in map(Requirement, [*conda, *from_pypi]):
        name = canonicalize_name(requirement.name)
        found[CONDA_NAMES.get(name, name)] = requirement.specifier
    assert found.pop("python") == PROJECT["requires-python"]
    for name in CONDA_ONLY:
        found.pop(name)
    assert found == {name: requirement.specifier for name, requirement in required().items()}


def test_every_line_of_the_environment_says_why():
    entries = ENVIRONMENT.partition("dependencies:")[2].splitlines()
    entries = [line for line in entries if line.strip().startswith("- ") and line.strip() != "- pip:"]
    assert entries
    assert [line for line in entries if not line.partition(" # ")[2].strip()] == []


@pytest.mark.parametrize("name", required())
def test_every_dependency_is_pinned_above_its_floor(name):
    assert required()[name].specifier.contains(pins()[name])


def test_constraints_are_plain_pins():
    assert "torch" in pins()
    assert not any(mark in CONSTRAINTS for mark in ("file:", " @ ", "://"))
