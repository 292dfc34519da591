"""Failed hook calls: one text with plugin, hook, cause and the guest's stack trace."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from wasmtime import Trap

from kubewasp.wasm.limits import config_name

if TYPE_CHECKING:
    from wasmtime import Frame

    from kubewasp.wasm.limits import Limits
    from kubewasp.wasm.load_checks import Positions

# Fields of `Limits`.
TimeSetting = Literal["call_timeout", "start_timeout", "cycle_timeout"]

# Modules between a guest and the host; their frames are left out of stack traces.
OUR_MODULES = ("kubewasp_adapter", "kubewasp_shim", "kubewasp_wasi_door", "kubewasp_wasi_shim")
# A frame in the text of an error: `0: 0x26 - module!name`.
_FRAME = re.compile(r"^ *\d+: +(0x[0-9a-f]+) - (.*?)!(.*)$", re.MULTILINE)
_UNNAMED, _NUMBERED = re.compile(r"<wasm function (\d+)>"), r"func[\1]"
# Go's linker writes `main.(*Plugin).Filter` with underscores.
_GO_METHOD, _AS_IN_GO = re.compile(r"\.__(\w+?)_\.(?=\w)"), r".(*\1)."
# Rust's compiler adds hashes to names: `policy::score::h1f…`, `core[9f…]::str`.
_RUST_HASH = re.compile(r"::h[0-9a-f]{16}$|(?<=\w)\[[0-9a-f]{13,16}\]")
# The text of `hook_failure` with output.
_WITH_OUTPUT = re.compile(
    r'wasm: \w+ error: (?P<printed>.+)\n(?P<cause>[^\n]*) \(plugin "[^"\n]*"\)(?:\nwasm stack trace:\n.*)?\Z', re.DOTALL
)
# Beginning of the error report of a language's runtime: Go and TinyGo, Rust, C, Python.
_REPORT = re.compile(r"^(?:panic: |fatal error: |thread '|.*[Aa]ssertion failed|Traceback \(most recent)", re.MULTILINE)
_TIME_LIMIT = "time limit of "
_MAX_FRAMES = 16
_MAX_OUTPUT = 4096
_MAX_NAME = 120


@dataclass(frozen=True, slots=True)
class HookFailure:
    """Failure of a call: the whole text, its cause in one line, and the kind that metrics have as a label."""

    text: str
    cause: str
    kind: str


def hook_failure(hook: str, plugin: str, kind: str, cause: str, *, output: str = "", trace: str = "") -> HookFailure:
    """`wasm: HOOK error: TEXT`. The text begins with the guest's output, if it has printed any."""
    described = f'{cause} (plugin "{plugin}")'
    printed = output.strip(" \t\r\n\0")
    if len(printed) > _MAX_OUTPUT:
        printed = f"{printed[:_MAX_OUTPUT]}…"
    lines = [f"wasm: {hook} error: {printed}", described] if printed else [f"wasm: {hook} error: {described}"]
    return HookFailure("\n".join([*lines, trace] if trace else lines), cause, kind)


def without_prints(text: str) -> str:
    """The text of a failure without the lines that the guest printed before its error report, if it has one.

    At a time limit, all output is left out: it is not the cause.
    """
    found = _WITH_OUTPUT.search(text)
    if found is None:
        return text
    printed, report = found["printed"], _REPORT.search(found["printed"])
    if report is None and not found["cause"].startswith(_TIME_LIMIT):
        return text
    kept = f"{printed[report.start() :]}\n" if report else ""
    return f"{text[: found.start('printed')]}{kept}{text[found.start('cause') :]}"


def time_limit(limits: Limits, setting: TimeSetting, *, place: str = "", function: str = "") -> str:
    """The cause of a call that took too long: where it was, and the limit that ended it."""
    on = f" on {place}" if place else ""
    within = f"{',' if place else ''} in {function}" if function else ""
    of_pod = " for one pod" if setting == "cycle_timeout" else ""
    limit = f"{_TIME_LIMIT}{getattr(limits, setting):g} s{of_pod}"
    return f"{limit} exceeded{on}{within}; the limit is limits.{config_name(setting)}"


def innermost_function(trace: str) -> str:
    """The function of a stack trace that an author looks for: the innermost of package main, or of all named ones."""
    names = [line.strip().partition(" @ ")[0] for line in trace.splitlines()[1:]]
    named = [name for name in names if name and not name.startswith(("func[", "…"))]
    return next((name for name in named if name.startswith("main.")), named[0] if named else "")[:_MAX_NAME]


def stack_trace(error: Exception, positions: Positions | None = None) -> str:
    """Stack trace of a trap, a line per frame; empty for other errors. `positions` are those of load checks."""
    if not isinstance(error, Trap):
        return ""
    frames = [frame for frame in error.frames if frame.module_name not in OUR_MODULES]
    return _trace([f"{frame.func_name or f'func[{frame.func_index}]'}{_place(frame, positions)}" for frame in frames])


def stack_trace_of_text(error: Exception) -> str:
    """Stack trace of an error that is no trap: the runtime has its frames in the text only."""
    found = [frame for frame in _FRAME.findall(str(error)) if frame[1] not in OUR_MODULES]
    return _trace([f"{_UNNAMED.sub(_NUMBERED, name)} @ {offset}" for offset, _, name in found])


def readable_name(name: str) -> str:
    """The name of a function as its author knows it.

    Methods are as Go writes them, names of Rust are without hashes, unnamed functions have their number.
    """
    return _GO_METHOD.sub(_AS_IN_GO, _RUST_HASH.sub("", _UNNAMED.sub(_NUMBERED, name)))


def _trace(frames: list[str]) -> str:
    lines = [f"\t{_GO_METHOD.sub(_AS_IN_GO, frame)}" for frame in frames]
    if len(lines) > _MAX_FRAMES:
        lines[_MAX_FRAMES:] = [f"\t… {len(lines) - _MAX_FRAMES} more"]
    return "\n".join(["wasm stack trace:", *lines]) if lines else ""


def _place(frame: Frame, positions: Positions | None) -> str:
    """Offset in the guest's file; the runtime has none for a function that has just begun."""
    offset = frame.module_offset if positions is None else positions.original(frame.module_offset)
    return f" @ {offset:#x}" if offset < 2**32 else ""
