"""Check of a plugin class in unit tests: hooks that the scheduler would never call, or not as they are written.

`kubewasp plugin build` has the same check on the sources, and more of it.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from kubewasp_sdk.plugin import METHODS, NORMALIZE_VALUES, Plugin, overrides

if TYPE_CHECKING:
    from collections.abc import Iterator

_HOOKS = (*METHODS.values(), NORMALIZE_VALUES, "events", "signature")


def check(plugin: type[Plugin]) -> None:
    """Raises TypeError for a class with a hook that cannot work, a misspelt one, or none."""
    problems = list(_problems(plugin))
    if problems:
        raise TypeError("; ".join(problems))


def _problems(plugin: type[Plugin]) -> Iterator[str]:
    present = [hook for hook in _HOOKS if overrides(plugin, hook)]
    for hook in present:
        yield from _wrong(plugin, hook)
    missing = {_plain(hook): hook for hook in _HOOKS if hook not in present}
    misspelt = [name for name in dir(plugin) if _plain(name) in missing and name not in _HOOKS and name[0] != "_"]
    for name in misspelt:
        yield f"{_where(plugin, name)} is not a hook; did you mean {missing[_plain(name)]}?"
    if not present and not misspelt:
        yield f"{plugin.__name__} implements no hook; give it a method such as filter or score"


def _wrong(plugin: type[Plugin], hook: str) -> Iterator[str]:
    found = getattr(plugin, hook)
    if isinstance(found, property):
        yield f"{_where(plugin, hook)} is a property; hooks are methods"
    elif inspect.iscoroutinefunction(found):
        yield f"{_where(plugin, hook)} is async; hooks are plain methods"
    elif callable(found):
        expected = inspect.signature(getattr(Plugin, hook))
        is_bound = not inspect.isfunction(inspect.getattr_static(plugin, hook))  # static and class methods
        count = len(expected.parameters) - is_bound
        try:
            inspect.signature(found).bind(*range(count))
        except TypeError:
            names = ", ".join(list(expected.parameters)[is_bound:])
            yield f"{_where(plugin, hook)} is called with other arguments: {hook}({names})"
        except ValueError:  # no signature: a function of C
            return


def _where(plugin: type[Plugin], name: str) -> str:
    """Name of a method, with its file and line."""
    code = getattr(inspect.unwrap(getattr(plugin, name)), "__code__", None)
    place = f" ({code.co_filename.rpartition('/')[2]}:{code.co_firstlineno})" if code else ""
    return f"{plugin.__name__}.{name}{place}"


def _plain(name: str) -> str:
    return name.replace("_", "").lower()
