"""Profiles in pprof's format, as pprof itself reads them."""

import gzip
import os
import re
import subprocess
from collections import Counter
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from kubewasp.projects import go
from kubewasp.wasm.core import pprof
from kubewasp.wasm.core.profiling import Function

SCORE, SCAN = Function("score", is_host=False), Function("policy::scan", is_host=False)
IMPORT = Function("kubewasp/v1.node_name", is_host=True)
STACKS = Counter({(SCORE,): 2, (SCORE, SCAN): 5, (SCORE, SCAN, IMPORT): 3})
ENDED = 1_800_000_000_000_000_000


def encoded(stacks: Counter[tuple[Function, ...]]) -> bytes:
    return pprof.encode(stacks, guest="policy.wasm", host="host", period_ns=1_000_000, ended_ns=ENDED)


def shown(profile: bytes, folder: Path, *options: str) -> str:
    path = folder / "profile.pb.gz"
    path.write_bytes(profile)
    done = subprocess.run(
        [go.find().command, "tool", "pprof", *options, str(path)],
        cwd=folder,
        env=os.environ | {"PPROF_TMPDIR": str(folder)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_pprof_reads_own_and_total_times_of_functions(tmp_path: Path) -> None:
    top = shown(encoded(STACKS), tmp_path, "-top")
    assert "File: policy.wasm" in top
    assert "Type: cpu" in top
    assert "Duration: 10ms, Total samples = 10ms" in top
    rows = {words[-1]: (words[0], words[3]) for words in map(str.split, top.splitlines()[6:])}
    assert rows == {"policy::scan": ("5ms", "8ms"), "kubewasp/v1.node_name": ("3ms", "3ms"), "score": ("2ms", "10ms")}


def test_pprof_reads_callers_and_mappings(tmp_path: Path) -> None:
    raw = shown(encoded(STACKS), tmp_path, "-raw")
    assert "samples/count cpu/nanoseconds[dflt]" in raw
    stacks = {
        tuple(ids.split()): int(count) for count, ids in re.findall(r"^ +(\d+) +\d+: ([\d ]+?) *$", raw, re.MULTILINE)
    }
    names = dict(re.findall(r"^ +(\d+): 0x0 M=\d+ (\S+) ", raw, re.MULTILINE))
    assert {tuple(names[one] for one in ids): count for ids, count in stacks.items()} == {
        tuple(item.name for item in reversed(stack)): count for stack, count in STACKS.items()
    }
    assert re.search(r"1: 0x0/0x0/0x0 policy\.wasm +\[FN\]", raw)
    assert re.search(r"2: 0x0/0x0/0x0 host +\[FN\]", raw)


FUNCTIONS = st.builds(Function, st.text(min_size=1, max_size=20), is_host=st.booleans())


@settings(max_examples=50)
@given(st.dictionaries(st.lists(FUNCTIONS, min_size=1, max_size=6).map(tuple), st.integers(1, 10**6), min_size=1))
def test_any_names_and_counts_are_in_the_profile(stacks: dict[tuple[Function, ...], int]) -> None:
    fields = decoded(gzip.decompress(encoded(Counter(stacks))))
    texts = [text.decode() for text in fields[6]]
    functions = {}
    for content in fields[5]:
        of_function = decoded(content)
        functions[of_function[1][0]] = texts[of_function[2][0]]
    found: Counter[tuple[str, ...]] = Counter()
    for content in fields[2]:
        sample = decoded(content)
        places, values = varints(sample[1][0]), varints(sample[2][0])
        assert values[1] == values[0] * 1_000_000
        found[tuple(functions[place] for place in reversed(places))] += values[0]
    expected: Counter[tuple[str, ...]] = Counter()
    for stack, count in stacks.items():
        expected[tuple(item.name for item in stack)] += count
    assert found == expected
    assert texts[0] == ""
    assert fields[9][0] + fields[10][0] == ENDED


def varints(data: bytes) -> list[int]:
    found, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            found.append(value)
            value = shift = 0
    return found


def decoded(message: bytes) -> dict[int, list]:  # type: ignore[type-arg]
    """Fields of a message by number: integers and bytes."""
    found: dict[int, list] = {}  # type: ignore[type-arg]
    at = 0

    def number() -> int:
        nonlocal at
        begin = at
        while message[at] >= 0x80:
            at += 1
        at += 1
        return varints(message[begin:at])[0]

    while at < len(message):
        tag = number()
        value: int | bytes = number()
        if tag & 7 == 2:
            at += value
            value = message[at - value : at]
        found.setdefault(tag >> 3, []).append(value)
    return found
