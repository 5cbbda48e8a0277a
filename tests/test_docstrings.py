"""Everything public says what it is."""

import importlib
import inspect
import pkgutil

import pytest

import c4lib

MODULES = sorted(module.name for module in pkgutil.walk_packages(c4lib.__path__, "c4lib."))


def silent(owner, name):
    """The public functions, classes and properties of a module or class that say nothing, not even by inheritance."""
    for key, value in vars(owner).items():
        inner = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if key.startswith("_") or (not isinstance(inner, property) and getattr(inner, "__module__", None) != name):
            continue
        if isinstance(inner, property) or inspect.isfunction(inner) or inspect.isclass(inner):
            if not inspect.getdoc(getattr(owner, key)):
                yield f"{owner.__name__}.{key}"
            if inspect.isclass(inner):
                yield from silent(inner, name)


@pytest.mark.parametrize("name", MODULES)
def test_everything_public_has_a_docstring(name):
    module = importlib.import_module(name)
    assert module.__doc__
    assert not list(silent(module, name))
