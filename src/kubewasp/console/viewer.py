"""Viewer of a request: name, rights, and the token that its actions need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from starlette.types import Scope

_KEY: Final = "kubewasp.viewer"


@dataclass(frozen=True, slots=True)
class Viewer:
    """Somebody who may look; `csrf` goes into the header field X-CSRF-Token of actions.

    `is_signed_in`: with a session that can be ended.
    """

    name: str = ""
    may_act: bool = False
    csrf: str = ""
    is_signed_in: bool = False


NOBODY: Final = Viewer()


def note_viewer(scope: Scope, viewer: Viewer) -> None:
    scope[_KEY] = viewer


def viewer_of(scope: Scope) -> Viewer:
    """The viewer that `ConsoleGate` has let in; without a gate, one without rights to act."""
    found = scope.get(_KEY, NOBODY)
    return found if isinstance(found, Viewer) else NOBODY
