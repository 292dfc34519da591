import logging

import pytest

from kubewasp.wasm.klog import LogLine, structured


@pytest.mark.parametrize(
    ("message", "pairs", "line"),
    [
        (b"moved", b"", "moved"),
        (b"moved\n", b"", "moved"),
        (b"moved", b"pod\0a\0node\0b\0", '"moved" pod="a" node="b"'),
        (b"", b"k\0\0", '"" k=""'),
        (b"quoted", b'text\0say "hi"\nand bye\0', '"quoted" text="say \\"hi\\"\\nand bye"'),
        ("Größe".encode(), "café\0日本\0".encode(), '"Größe" café="日本"'),
        (b"odd", b"key\0", '"odd" key="(MISSING)"'),
        (b"unterminated", b"key\0value", '"unterminated" key="value"'),
        (b"bad \xff", b"k\0\xff\0", '"bad \ufffd" k="\ufffd"'),
    ],
)
def test_pairs_are_written_as_klog_writes_them(message: bytes, pairs: bytes, line: str) -> None:
    assert structured(message, pairs) == line


@pytest.mark.parametrize(
    ("severity", "level", "letter"),
    [
        (0, logging.INFO, "I"),
        (1, logging.WARNING, "W"),
        (2, logging.ERROR, "E"),
        (3, logging.ERROR, "F"),
        (-5, logging.INFO, "I"),
        (2**31 - 1, logging.ERROR, "F"),
    ],
)
def test_a_severity_has_a_level_and_a_letter(severity: int, level: int, letter: str) -> None:
    line = LogLine(severity, "text")
    assert (line.level, line.letter) == (level, letter)
