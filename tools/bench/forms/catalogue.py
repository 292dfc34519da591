"""Forms by their names in a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tools.bench.forms.callbacks import Callbacks
from tools.bench.forms.extender import ExtenderFull, ExtenderNames
from tools.bench.forms.form import BuiltIn, InProcess
from tools.bench.forms.guest import C, Go, GuestForm, JavaScript, Python, Rust, TinyGo, Wat

if TYPE_CHECKING:
    from tools.bench.forms.form import Form

GUESTS: Final[dict[str, type[GuestForm]]] = {
    kind.language: kind for kind in (Go, TinyGo, Rust, C, Python, JavaScript, Wat)
}
FORMS: Final[dict[str, type[Form]]] = {
    "builtin": BuiltIn,
    "in-process": InProcess,
    **GUESTS,
    "callbacks": Callbacks,
    "extender-full": ExtenderFull,
    "extender-names": ExtenderNames,
}
COMPONENTS: Final = tuple(name for name, kind in GUESTS.items() if kind.is_component)
# Forms with a compiled wasm file.
COMPILED: Final = (*GUESTS, "callbacks")
# Forms with fewer repetitions.
SLOW: Final = (*COMPONENTS, "callbacks", "extender-full", "extender-names")
