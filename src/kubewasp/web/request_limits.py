"""How much of the machine a request may use. Every limit has a default and can be set for each guest."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from kubewasp.k8s import quantity
from kubewasp.k8s.duration import parse_duration
from kubewasp.wasm.limits import KIB, MIB, config_name

if TYPE_CHECKING:
    from collections.abc import Mapping

_TIMES: Final = ("timeout", "start_timeout", "client_timeout")
_RANGES: Final[dict[str, tuple[float, float]]] = {
    "memory": (64 * KIB, 4096 * MIB),
    "timeout": (0.01, 3600),
    "start_timeout": (0.01, 600),
    "client_timeout": (0.01, 3600),
    "stack": (64 * KIB, 4 * MIB),
    "request_body": (0, 1 << 50),
    "response_body": (0, 1 << 50),
    "buffer": (KIB, 1024 * MIB),
    "output": (0, 16 * MIB),
    "instances": (1, 10_000),
    "guest_size": (8, 1024 * MIB),
}


@dataclass(frozen=True, slots=True)
class WebLimits:
    """The bounds of one guest. Times are seconds, sizes bytes."""

    memory: int = 128 * MIB
    timeout: float = 10.0  # of a call, without the time in which it waits for the client
    start_timeout: float = 10.0
    client_timeout: float = 30.0  # how long the client may keep it waiting
    stack: int = 1 * MIB
    request_body: int = 1024 * MIB
    response_body: int = 1024 * MIB
    buffer: int = 4 * MIB  # of a body that a middleware wants to see as a whole
    output: int = 64 * KIB  # what it prints and logs for a request
    instances: int = 64  # at work at the same time
    guest_size: int = 128 * MIB

    @classmethod
    def from_config(cls, settings: Mapping[str, Any]) -> tuple[WebLimits, dict[str, str]]:
        """As the file has them: `timeout: 500ms`, `memory: 64Mi`; and what is wrong with which of them."""
        names = {config_name(field.name): field.name for field in fields(cls)}
        values: dict[str, Any] = {}
        wrong: dict[str, str] = {}
        for key, given in settings.items():
            if key not in names:
                wrong[key] = f"unknown limit; there are {', '.join(names)}"
                continue
            try:
                values[names[key]] = _checked(names[key], given)
            except ValueError as error:
                wrong[key] = str(error)
        return cls(**values), wrong


def _checked(name: str, given: Any) -> float:
    is_time = name in _TIMES
    value = given
    if isinstance(given, str):
        value = parse_duration(given) if is_time else quantity.parse(given).value()
    wanted = "a duration such as 500ms" if is_time else "an integer such as 64Mi"
    if isinstance(value, bool) or not isinstance(value, int | float if is_time else int):
        raise ValueError(f"expected {wanted}, got {given!r}")  # noqa: TRY004 - a value of the user's
    low, high = _RANGES[name]
    if not low <= value <= high:
        raise ValueError(f"expected {wanted}, from {low} to {high}, got {given!r}")
    return value
