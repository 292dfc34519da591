"""`Limits`: bounds of a guest's memory, time and payloads. Public API."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from kubewasp.errors import KubewaspError
from kubewasp.k8s import errors, quantity
from kubewasp.k8s.duration import format_duration, parse_duration

if TYPE_CHECKING:
    from collections.abc import Mapping

KIB, MIB = 1024, 1024 * 1024
Interruption = Literal["load", "epoch"]
INTERRUPTIONS: Final = get_args(Interruption)
_LARGE = 1e18  # more is not worth a unit


class LimitError(KubewaspError):
    """A limit is unknown or out of range; the text names the field."""


@dataclass(frozen=True, slots=True)
class CompileLimits:
    """Limits of a compilation: CPU time in seconds, memory in bytes. A Python plugin of 19 MB takes 10 s and 430 MB."""

    timeout: float = 120.0
    memory: int = 2048 * MIB


COMPILATION = CompileLimits()


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one guest. Times are seconds, sizes bytes; every limit has a default.

    Time limits are CPU time of the calling thread, so a busy machine ends no call early. A guest may sleep as long
    again, and a call ends at ten to eleven times its limit in wall time in any case. Filter and Score are called for
    many nodes at once, in batches that should take a tenth of `call_timeout`; each batch has the whole time.

    Example:
        >>> from kubewasp import Guest, Limits                             # doctest: +SKIP
        >>> Guest.load("policy.wasm", limits=Limits(memory=64 << 20, call_timeout=0.5))  # doctest: +SKIP

    Attributes:
        memory: The guest's memory; `memory.grow` fails at the limit.
        call_timeout: Time of a call of a hook.
        start_timeout: Time of the start function.
        stack: The guest's stack.
        output: Captured stdout and stderr per call; the rest is dropped.
        reason: Length of a status reason.
        log: Length of a log line.
        payload: Length of any other payload, such as events or node names.
        guest_size: Size of the wasm file.
        cycle_timeout: Time of all calls for one pod, from PreFilter to Permit.
        compile_timeout: Time of the compilation, in a process of its own.
        compile_memory: Memory of that process.
        pods_per_instance: Pods of an instance before it is replaced: 1 for a new instance per pod, 0 for no limit.
        interruption: How endless guests are ended: `load` (load checks, for core modules on Linux), or `epoch`.
    """

    memory: int = 256 * MIB
    call_timeout: float = 1.0
    start_timeout: float = 10.0
    stack: int = 1 * MIB
    output: int = 64 * KIB
    reason: int = 64 * KIB
    log: int = 256 * KIB
    payload: int = 16 * MIB
    guest_size: int = 128 * MIB
    cycle_timeout: float = 5.0
    compile_timeout: float = COMPILATION.timeout
    compile_memory: int = COMPILATION.memory
    pods_per_instance: int = 0
    interruption: Interruption = "load"

    @property
    def compilation(self) -> CompileLimits:
        return CompileLimits(self.compile_timeout, self.compile_memory)

    def __post_init__(self) -> None:
        if self.interruption not in INTERRUPTIONS:
            expected = " or ".join(INTERRUPTIONS)
            raise LimitError(f"limits.interruption: expected {expected}, got {errors.shown(self.interruption)}")
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            shown = config_name(name)
            is_time = name in _TIMES
            wanted = "a number" if is_time else "an integer"
            if isinstance(value, bool) or not isinstance(value, int | float if is_time else int):
                raise LimitError(f"limits.{shown}: expected {wanted}, got {errors.shown(value)}")
            if not low <= value <= high:
                first, last, given = (_shown(name, number) for number in (low, high, value))
                kind = "duration" if is_time else "number" if name in _COUNTS else "size"
                raise LimitError(f"limits.{shown}: expected a {kind} from {first} to {last}, got {given}")

    @classmethod
    def from_mapping(cls, settings: Mapping[str, object]) -> Limits:
        """Limits by their Python names; LimitError for an unknown one."""
        known = {field.name for field in fields(cls)}
        for name in settings:
            if name not in known:
                raise LimitError(f"limits.{name}: unknown limit; there are {', '.join(sorted(known))}")
        values: dict[str, Any] = dict(settings)  # checked by the constructor
        return cls(**values)

    @classmethod
    def from_config(cls, settings: Mapping[str, object]) -> Limits:
        """Limits of a configuration file: `callTimeout: 500ms`, `memory: 64Mi`; numbers are seconds and bytes."""
        names = {config_name(field.name): field.name for field in fields(cls)}
        values: dict[str, Any] = {}
        for key, value in settings.items():
            if key not in names:
                raise LimitError(f"limits.{key}: unknown limit; there are {', '.join(names)}")
            try:
                values[names[key]] = _parsed(names[key], value)
            except ValueError as error:
                raise LimitError(f"limits.{key}: {error}") from None
        return cls(**values)


def limits_problem(limits: Mapping[str, object]) -> str:
    """The problem of limits in a configuration file; empty if they are valid."""
    try:
        Limits.from_config(limits)
    except LimitError as error:
        return str(error)
    return ""


def config_name(name: str) -> str:
    """The name in a configuration file: `callTimeout` for `call_timeout`."""
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def _shown(name: str, value: float) -> str:
    if not -_LARGE < value < _LARGE:
        return errors.shown(value)
    if name in _COUNTS:
        return str(value)
    return format_duration(value) if name in _TIMES else quantity.format_size(int(value))


def _parsed(name: str, value: Any) -> Any:
    if not isinstance(value, str) or name == "interruption":
        return value
    if name in _TIMES:
        return parse_duration(value)
    return quantity.parse(value).value()


_TIMES = ("call_timeout", "start_timeout", "cycle_timeout", "compile_timeout")
_COUNTS = ("pods_per_instance",)
_RANGES: dict[str, tuple[float, float]] = {
    "memory": (64 * KIB, 4096 * MIB),
    "call_timeout": (0.01, 600),
    "start_timeout": (0.01, 600),
    "stack": (64 * KIB, 4 * MIB),
    "output": (0, 16 * MIB),
    "reason": (0, MIB),
    "log": (KIB, 16 * MIB),
    "payload": (KIB, 256 * MIB),
    "guest_size": (8, 1024 * MIB),
    "cycle_timeout": (0.01, 600),
    "compile_timeout": (1, 3600),
    "compile_memory": (128 * MIB, 65536 * MIB),
    "pods_per_instance": (0, 1_000_000_000),
}
