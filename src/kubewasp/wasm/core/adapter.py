"""Source text of the two modules between a guest and Python: the shim and the adapter.

The guest needs its imports before it exists, and the adapter needs the guest's memory: the shim breaks the circle. It
has a trampoline per import, through a table that the adapter fills when it is instantiated.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

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


@cache
def adapter_wat() -> str:
    """The template adapter.wat with the numbers of adapter_layout.py, the fixed texts and the element segment."""
    template = files(__package__).joinpath("adapter.wat").read_text(encoding="utf-8")
    names = " ".join(f"${item.key}" for item in ADAPTER_IMPORTS)
    texts = "".join(f"\\{byte:02x}" for byte in FIXED_TEXTS)
    filled = template.replace(";;@elements", f"(elem (table $shim) (i32.const 0) func {names})")
    return _PLACEHOLDER.sub(lambda found: str(PLACEHOLDERS[found[1]]), filled.replace("@texts", texts))
