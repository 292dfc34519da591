"""Memory layout shared by Python and the adapter: the only place of these numbers.

adapter.wat has placeholders (`@own.slots`, `@row.node`) that adapter.py fills from PLACEHOLDERS. Addresses are relative
to the start of a memory, offsets to the start of a record. A *place* is an address (low 32 bits) and a length (high 32
bits) in the shared memory.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final

import numpy as np

from kubewasp.wasm.hooks import HOOKS, INPUTS, PAYLOADS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# ---------------------------------------------------------------- the adapter's own memory, one per instance
# Fixed texts: an empty ListMeta as the API server writes it, and the parts of the answer of nodeImageStates.
_TEXTS: Final = {
    "list_meta": b"\x0a\x06\x0a\x00\x12\x00\x1a\x00",
    "null": b"null",
    "image_size": b':{"Size":',
    "image_nodes": b',"NumNodes":',
    "image_end": b"}",
}
FIXED_TEXTS: Final = b"".join(_TEXTS.values())

CRC_TABLE: Final = 0  # 256 entries of 4 bytes, filled by the adapter's start function
TEXTS: Final = 1024
ONE_ROW: Final = 1160  # input of a single call
ONE_RESULT: Final = 1168  # result of a single call
SIGNATURE: Final = 1184  # by the guest, 8 bytes: signature of the pod
IMPLEMENTED: Final = 1192  # by the guest, 4 bytes: its hooks, a bit each
CYCLE: Final = 1200  # by Python, 4 bytes each: numbers of the cycle and of the cycle state
STATE: Final = 1204
EVENT: Final = 1208  # by Python, 4 bytes each: resource and action of the event
NOW: Final = 1216  # by Python, 8 bytes each: time, time of queueing, place of the pods of one node
QUEUED_AT: Final = 1224
NODE_PODS: Final = 1232
# After a run, 4 bytes each: lengths of the journal, of the last call's output and of the lines, and number of lines.
AFTER_RUN: Final = 1240
SLOTS: Final = 1280  # by Python: places of the inputs; UNFILLED makes the adapter call `fill` first
RECENT_REASONS: Final = 1408  # the last reasons of the journal: address, length, number, unused (4 bytes each)
# Scores being normalized. By Python, 4 bytes each: their address and size; by the guest: whether it has replaced them.
SCORES: Final = 1536
SCORES_SENT: Final = 1544
# By the guest, 4 bytes each: its normalization (0 for none, or a method plus 1; reverse; maximum), its purity (0 for
# none, 2 if it reports what it reads), and the fields of the pod that it has read (metadata, others, two of the spec).
NORMALIZATION: Final = 1552
PURE: Final = 1564
POD_READ: Final = 1568
REGIONS: Final = 4096  # journal, lines, reason, output, row numbers and results, at addresses that Python chooses
UNFILLED: Final = 2**64 - 1
RECENT_REASON_COUNT: Final = 8
HINT_LIMIT: Final = 1024  # bytes; longer hints are cut

PLACE: Final = Struct("<Q")
INT32: Final = Struct("<i")
INT64: Final = Struct("<q")
INT32_PAIR: Final = Struct("<II")
INT32_TRIPLE: Final = Struct("<iii")
POD_FIELDS: Final = Struct("<IIQ")
LENGTHS_AFTER_RUN: Final = Struct("<IIII")

RESULT: Final = np.dtype([("value", "<i8"), ("reason", "<i8")])
# A journal record: the length of a reason, then the reason, padded to 8 bytes. With a hint, the second number is the
# length of the reason and a separator, which the hint follows; it is 0 without one.
JOURNAL_HEADER: Final = Struct("<II")
# A line record: this header, then the payload, padded to 8 bytes. `message` is the length of the first part of a log
# line's payload. Output has its stream in place of the severity, lost output its bytes in place of `message`.
LINE: Final = np.dtype([(name, "<u4") for name in ("kind", "row", "severity", "message", "size", "unused")])
LINE_HEADER: Final = Struct("<IiiIII")
LOG, LOGS, OUTPUT, LOST_OUTPUT = 1, 2, 3, 4

# ---------------------------------------------------------------- shared memory, one per engine
DIRECTORY: Final = np.dtype(
    [(name, "<u4") for name in ("rows", "mask", "names", "images", "list_length", "records", "stride", "unused")]
)
DIRECTORY_HEADER: Final = Struct("<IIIIIIII")
ROW: Final = np.dtype([("name", "<u8"), ("node", "<u8"), ("images", "<u4"), ("unused", "V12")])
IMAGE: Final = np.dtype([("name", "<u8"), ("size", "<u8"), ("nodes", "<u8")])
# The images of a row: a count, then that many ids, 4 bytes each.
IMAGE_LIST_IDS: Final = 4
# The start of a node record; pairs of allocatable and requested follow, one per resource. `pods` is the place of the
# node's pods (-1: call `fill_pods` first); node_info returns the rest of the record.
RECORD: Final = np.dtype([(name, "<i8") for name in ("pods", "generation", "row_generation", "cpu", "memory")])

# ---------------------------------------------------------------- numbers in calls
# Kinds of return values.
KIND_OF_TYPE: Final = {"": 0, "i32": 1, "i64": 2}
KIND_OF_HOOK: Final = {hook.index: KIND_OF_TYPE[hook.answer.wasm_type] for hook in HOOKS.values()}


def _offsets(prefix: str, record: np.dtype[np.void]) -> dict[str, int]:
    offsets = {f"{prefix}.{name}": int(field[1]) for name, field in (record.fields or {}).items()}
    return offsets | {f"{prefix}.bytes": record.itemsize}


def _numbered(prefix: str, names: Iterable[str]) -> dict[str, int]:
    return {f"{prefix}.{name}": number for number, name in enumerate(names)}


def _texts(texts: Mapping[str, bytes]) -> dict[str, int]:
    found, at = {}, TEXTS
    for name, text in texts.items():
        found[f"text.{name}"], found[f"length.{name}"] = at, len(text)
        at += len(text)
    return found


PLACEHOLDERS: Final[dict[str, int]] = (
    {
        "own.texts": TEXTS,
        "own.journal_length": AFTER_RUN,
        "own.output_length": AFTER_RUN + 4,
        "own.lines_length": AFTER_RUN + 8,
        "own.line_count": AFTER_RUN + 12,
        "own.signature": SIGNATURE,
        "own.signature_high": SIGNATURE + 4,
        "own.implemented": IMPLEMENTED,
        "own.cycle": CYCLE,
        "own.state": STATE,
        "own.event_resource": EVENT,
        "own.event_action": EVENT + 4,
        "own.now": NOW,
        "own.queued_at": QUEUED_AT,
        "own.node_pods": NODE_PODS,
        "own.slots": SLOTS,
        "own.pod": SLOTS + 8 * INPUTS.index("pod"),
        "own.pod_length": SLOTS + 8 * INPUTS.index("pod") + 4,
        "own.pod_requests": SLOTS + 8 * INPUTS.index("pod_requests"),
        "own.recent_reasons": RECENT_REASONS,
        "own.scores": SCORES,
        "own.scores_size": SCORES + 4,
        "own.scores_sent": SCORES_SENT,
        "own.normalization": NORMALIZATION,
        "own.pure": PURE,
        "own.pod_read": POD_READ,
        "recent_reasons.count": RECENT_REASON_COUNT,
        "recent_reasons.mask": RECENT_REASON_COUNT - 1,
        "hint.limit": HINT_LIMIT,
        "hooks.count": len(HOOKS),
        "kind.i32": KIND_OF_TYPE["i32"],
        "kind.i64": KIND_OF_TYPE["i64"],
        "kind_of_line.log": LOG,
        "kind_of_line.logs": LOGS,
        "kind_of_line.output": OUTPUT,
        "kind_of_line.lost_output": LOST_OUTPUT,
        # Room for a record besides its payload: header and padding.
        "line.room": LINE.itemsize + 8,
        "line.padding": LINE.itemsize + 7,
        "journal.header": JOURNAL_HEADER.size,
        "journal.room": JOURNAL_HEADER.size + 8,
        "journal.padding": JOURNAL_HEADER.size + 7,
        "row.shift": ROW.itemsize.bit_length() - 1,
        # Of an image in the answer of nodeImageStates: a comma or brace, and the fixed texts.
        "image.fixed": 1 + sum(len(_TEXTS[name]) for name in ("image_size", "image_nodes", "image_end")),
        "image_list.ids": IMAGE_LIST_IDS,
        # The name of a row, relative to the directory.
        "directory.first_name": DIRECTORY.itemsize + _offsets("row", ROW)["row.name"],
    }
    | _texts(_TEXTS)
    | _offsets("directory", DIRECTORY)
    | _offsets("row", ROW)
    | _offsets("image", IMAGE)
    | _offsets("record", RECORD)
    | _offsets("result", RESULT)
    | _offsets("line", LINE)
    | _numbered("slot", INPUTS)
    | _numbered("payload", PAYLOADS)
)
