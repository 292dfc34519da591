"""Source text of the two modules between a guest and Python: the shim and the adapter.

The guest needs its imports before it exists, and the adapter needs the guest's memory: the shim breaks the circle. It
has a trampoline per import, through a table that the adapter fills when it is instantiated.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Final

from kubewasp.wasm.core.abi import ADAPTER_IMPORTS, Import
from kubewasp.wasm.core.adapter_layout import FIXED_TEXTS, PLACEHOLDERS

_PLACEHOLDER = re.compile(r"@([a-z0-9_]+\.[a-z0-9_.]+)")


def _trampoline(index: int, item: Import) -> str:
    signature = "".join([f" (param{' i32' * len(item.parameters)})", f" (result {item.result})" if item.result else ""])
    arguments = " ".join(f"(local.get {n})" for n in range(len(item.parameters)))
    return f'  (func (export "{item.key}"){signature} (call_indirect{signature} {arguments} (i32.const {index})))'


@cache
def shim_wat() -> str:
    trampolines = "\n".join(_trampoline(index, item) for index, item in enumerate(ADAPTER_IMPORTS))
    return f'(module $kubewasp_shim\n  (table (export "table") {len(ADAPTER_IMPORTS)} funcref)\n{trampolines})\n'


# The last import of the adapter with load checks, and a check, for every loop (docs/rationale.md, "Load checks").
_GUARD: Final = '(import "guest" "guard" (memory $guard 1 1))'
_CHECK: Final = "(drop (i32.atomic.load $guard (i32.const 0)))"
_LOOP: Final = re.compile(r"\(loop \$\w+")


@cache
def adapter_wat(*, load_checks: bool = False) -> str:
    """The template adapter.wat with the numbers of adapter_layout.py, the fixed texts and the element segment.

    With load checks, the guest's guard is imported, and loops have checks.
    """
    template = files(__package__).joinpath("adapter.wat").read_text(encoding="utf-8")
    names = " ".join(f"${item.key}" for item in ADAPTER_IMPORTS)
    texts = "".join(f"\\{byte:02x}" for byte in FIXED_TEXTS)
    filled = template.replace(";;@elements", f"(elem (table $shim) (i32.const 0) func {names})")
    filled = filled.replace(";;@guard", _GUARD if load_checks else "")
    if load_checks:
        filled = _LOOP.sub(lambda found: f"{found[0]} {_CHECK}", filled)
    return _PLACEHOLDER.sub(lambda found: str(PLACEHOLDERS[found[1]]), filled.replace("@texts", texts))
