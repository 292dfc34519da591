"""Misspelt hook names: "did you mean" for methods that are almost named like a hook."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Similarity of `scroe` and `score`.
_ALIKE: Final = 0.8


def nearest(name: str, hooks: Iterable[str], *, aliases: Mapping[str, str], fuzzy: bool) -> str:
    """The hook that a name means: the same letters, an alias, or with `fuzzy` almost the same letters; else ""."""
    plain = {_plain(hook): hook for hook in hooks}
    wanted = _plain(name)
    if wanted in plain:
        return plain[wanted]
    if aliases.get(wanted) in plain.values():
        return aliases[wanted]
    # A hook's name as a whole part of a longer one is a name of its own: filter_gpus, ScoreOf.
    parts = [hook for hook in plain if wanted.startswith(hook) or wanted.endswith(hook)]
    if not fuzzy or any(len(wanted) - len(hook) > 1 for hook in parts):
        return ""
    near = difflib.get_close_matches(wanted, plain, 1, _ALIKE)
    return plain[near[0]] if near else ""


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
