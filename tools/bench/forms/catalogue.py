"""Forms by their names in a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tools.bench.forms.callbacks import Callbacks
from tools.bench.forms.extender import ExtenderFull, ExtenderNames
from tools.bench.forms.form import BuiltIn, InProcess
from tools.bench.forms.guest import Go, GuestForm, Python, Wat

if TYPE_CHECKING:
    from tools.bench.forms.form import Form

FORMS: Final[dict[str, type[Form]]] = {
    "builtin": BuiltIn,
    "in-process": InProcess,
    "go": Go,
    "python": Python,
    "wat": Wat,
    "callbacks": Callbacks,
    "extender-full": ExtenderFull,
    "extender-names": ExtenderNames,
}
GUESTS: Final[dict[str, type[GuestForm]]] = {"go": Go, "python": Python, "wat": Wat}
# Forms with a compiled wasm file.
COMPILED: Final = (*GUESTS, "callbacks")
# Forms with fewer repetitions.
SLOW: Final = ("python", "callbacks", "extender-full", "extender-names")
