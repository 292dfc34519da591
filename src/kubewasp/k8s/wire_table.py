"""Wire table: the fields of the protobuf messages. Independent of the protobuf library, so cheap to import."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

QUANTITY: Final = "api.resource.Quantity"
TIME: Final = "apis.meta.v1.Time"
MICRO_TIME: Final = "apis.meta.v1.MicroTime"
INT_OR_STRING: Final = "util.intstr.IntOrString"
FIELDS_V1: Final = "apis.meta.v1.FieldsV1"
RAW_EXTENSION: Final = "runtime.RawExtension"

# Messages whose JSON form is a single value.
VALUE_MESSAGES: Final = frozenset({QUANTITY, TIME, MICRO_TIME, INT_OR_STRING, FIELDS_V1, RAW_EXTENSION})

_LINE: Final = re.compile(
    r"  (?P<number>\d+)(?P<required>!?) (?P<name>\w+) "
    r"(?P<shape>\[\]|map<string,)?(?P<type>[\w.]+)>?(?P<inline> inline)?(?P<hidden> json=-)?"
)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message; `type` is the type of an element if the field is repeated or a map."""

    number: int
    name: str
    type: str
    required: bool
    repeated: bool
    is_map: bool
    inline: bool
    in_json: bool


@cache
def messages() -> dict[str, tuple[Field, ...]]:
    """Every message of the table with its fields."""
    table: dict[str, list[Field]] = {}
    fields: list[Field] = []
    for line in resources.files(__package__).joinpath("wire_fields.txt").read_text("utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith(" "):
            fields.append(_field(line))
        else:
            fields = table.setdefault(line, [])
    return {name: tuple(fields) for name, fields in table.items()}


def _field(line: str) -> Field:
    match = _LINE.fullmatch(line)
    if match is None:
        raise AssertionError(f"wire_fields.txt: cannot read the line {line!r}")
    return Field(
        number=int(match["number"]),
        name=match["name"],
        type=match["type"],
        required=bool(match["required"]),
        repeated=match["shape"] == "[]",
        is_map=match["shape"] == "map<string,",
        inline=bool(match["inline"]),
        in_json=not match["hidden"],
    )
