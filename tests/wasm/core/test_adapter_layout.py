"""Shared memory layout of Python and adapter.wat."""

import re
from importlib.resources import files
from itertools import pairwise

from kubewasp.wasm import hooks
from kubewasp.wasm.core import adapter_layout as layout
from kubewasp.wasm.core.adapter import adapter_wat

TEMPLATE = files("kubewasp.wasm.core").joinpath("adapter.wat").read_text(encoding="utf-8")


def test_every_placeholder_of_the_template_is_filled() -> None:
    assert "@" in TEMPLATE
    assert "@" not in "".join(line.partition(";;")[0] for line in adapter_wat().splitlines())


def test_the_template_has_no_address_of_its_own_memory() -> None:
    """Numbers above 255 are addresses; 4096 is the longest name, 256 the size of the CRC table."""
    code = "\n".join(line.partition(";;")[0] for line in TEMPLATE.splitlines())
    assert {int(number) for number in re.findall(r"i32\.const (\d+)\)", code) if int(number) > 255} == {256, 4096}
    assert re.findall(r"\$shared offset=\d+", code) == []


def test_areas_of_the_own_memory_do_not_overlap() -> None:
    areas = [
        (layout.CRC_TABLE, 256 * 4),
        (layout.TEXTS, len(layout.FIXED_TEXTS)),
        (layout.ONE_ROW, 4),
        (layout.ONE_RESULT, layout.RESULT.itemsize),
        (layout.SIGNATURE, 8),
        (layout.IMPLEMENTED, 4),
        (layout.CYCLE, 4),
        (layout.STATE, 4),
        (layout.EVENT, 8),
        (layout.NOW, 8),
        (layout.QUEUED_AT, 8),
        (layout.NODE_PODS, 8),
        (layout.AFTER_RUN, layout.LENGTHS_AFTER_RUN.size),
        (layout.SLOTS, 8 * len(hooks.INPUTS)),
        (layout.RECENT_REASONS, 16 * layout.RECENT_REASON_COUNT),
        (layout.REGIONS, 0),
    ]
    for (start, size), (following, _) in pairwise(areas):
        assert start + size <= following


def test_structs_and_records_agree() -> None:
    assert layout.LINE_HEADER.size == layout.LINE.itemsize
    assert layout.DIRECTORY_HEADER.size == layout.DIRECTORY.itemsize
    assert layout.ROW.itemsize == 1 << layout.PLACEHOLDERS["row.shift"]


def test_numbers_of_inputs_and_payloads_are_those_of_their_lists() -> None:
    for name in hooks.INPUTS:
        assert layout.PLACEHOLDERS[f"slot.{name}"] == getattr(hooks, name.upper())
    payloads = (
        hooks.CLUSTER_EVENTS,
        hooks.NODE_NAMES,
        hooks.NOMINATED_NODE,
        hooks.NORMALIZED_SCORES,
        hooks.EVENT,
        hooks.NORMALIZED_ROWS,
        hooks.SORT_KEY,
    )
    assert payloads == tuple(layout.PLACEHOLDERS[f"payload.{name}"] for name in hooks.PAYLOADS)
