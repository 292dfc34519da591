"""The public API: every name resolves, is documented, and is typed without `Any`."""

import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterator

import pytest

MODULES = ("kubewasp", "kubewasp.plugin_api", "kubewasp.simulation", "kubewasp.web", "kubewasp.wasi")
NAMES = [(module, name) for module in MODULES for name in importlib.import_module(module).__all__]
ANY = re.compile(r"\bAny\b")


def annotations(item: object) -> Iterator[tuple[str, str]]:
    """The annotations of a function, or of the fields and public methods of a class."""
    if inspect.isfunction(item):
        for name, annotation in item.__annotations__.items():
            yield f"{item.__qualname__}({name})", str(annotation)
    elif inspect.isclass(item):
        for field in dataclasses.fields(item) if dataclasses.is_dataclass(item) else ():
            yield f"{item.__qualname__}.{field.name}", str(field.type)
        for name, member in vars(item).items():
            if not name.startswith("_") or name in ("__init__", "__getitem__", "__setitem__"):
                found = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
                yield from annotations(found) if inspect.isfunction(found) else ()


@pytest.mark.parametrize("module", MODULES)
def test_a_public_module_is_documented_with_an_example(module: str) -> None:
    documented = importlib.import_module(module).__doc__ or ""
    assert ">>>" in documented or "    class " in documented


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_public_name_resolves_and_is_documented(module: str, name: str) -> None:
    item = getattr(importlib.import_module(module), name)
    if inspect.isclass(item) or inspect.isfunction(item):
        assert inspect.getdoc(item)


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_public_name_is_typed_without_any(module: str, name: str) -> None:
    item = getattr(importlib.import_module(module), name)
    assert [place for place, annotation in annotations(item) if ANY.search(annotation)] == []


@pytest.mark.parametrize("module", MODULES)
def test_a_module_has_no_other_names(module: str) -> None:
    assert not hasattr(importlib.import_module(module), "no_such_name")
