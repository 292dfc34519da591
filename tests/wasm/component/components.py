"""Component of the component tests: loading and control."""

import functools
from pathlib import Path
from typing import Any

from kubewasp.wasm.component.component_module import ComponentModule, load_component
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.limits import Limits
from tests import samples
from tests.guests.build import SOURCES, project_guest


@functools.cache
def probe_wasm() -> bytes:
    """tests/guests/python/probe: does in each hook what the pod's annotation of that name says."""
    return Path(project_guest(SOURCES / "python" / "probe")).read_bytes()


@functools.cache
def probe_program(stack: int = Limits().stack) -> ComponentModule:
    return load_component(probe_wasm(), Limits(stack=stack))


def probe(limits: Limits | None = None, **settings: Any) -> Guest:
    bounds = limits or Limits()
    return Guest(probe_program(bounds.stack), name="probe", limits=bounds, **settings)


def pod(name: str = "pod-1", *, labels: dict[str, str] | None = None, **code: str) -> dict[str, Any]:
    """A pod for which hooks run the code that is given under their methods' names."""
    return samples.pod(name, annotations=code, labels=labels or {})
