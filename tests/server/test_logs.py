"""Log lines in the format of klog."""

import io
import json
import logging
import os
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kubewasp.server import logs
from kubewasp.wasm.klog import level_of


class Logging:
    """Logging set up as the process does, into a text."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        self.handlers: list[logging.Handler] = []

    def start(self, kind: logs.LogFormat = "text", level: int = 0) -> None:
        self.handlers.append(logs.configure(kind, level, self.stream))

    @property
    def lines(self) -> list[str]:
        text = self.stream.getvalue()
        assert text == "" or text.endswith("\n")
        return text.split("\n")[:-1]

    @property
    def line(self) -> str:
        (line,) = self.lines
        return line

    @property
    def told(self) -> str:
        """The line without its header."""
        return self.line.split("] ", 1)[1]


@pytest.fixture
def log() -> Iterator[Logging]:
    root, ours = logging.getLogger(), logging.getLogger("kubewasp")
    before = root.level, ours.level
    found = Logging()
    yield found
    for handler in found.handlers:
        root.removeHandler(handler)
    root.setLevel(before[0])
    ours.setLevel(before[1])


logger = logging.getLogger("kubewasp.test")


def test_a_text_line_has_klogs_header(log: Logging, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    log.start()
    record = logger.makeRecord("kubewasp", logging.INFO, "/src/queue.py", 96, "Pod moved", (), None)
    record.created = 1700049600.000123
    record.process = 4711
    logger.handle(record)
    monkeypatch.undo()
    time.tzset()
    assert log.line == 'I1115 12:00:00.000123    4711 queue.py:96] "Pod moved"'


@pytest.mark.parametrize(
    ("level", "letter"),
    [(logging.DEBUG, "I"), (logging.INFO, "I"), (logging.WARNING, "W"), (logging.ERROR, "E"), (logging.CRITICAL, "F")],
)
def test_the_letter_tells_the_severity(log: Logging, level: int, letter: str) -> None:
    log.start(level=10)
    logger.log(level, "x")
    assert re.match(rf"{letter}\d{{4}} \d\d:\d\d:\d\d\.\d{{6}} +{os.getpid()} test_logs\.py:\d+\] ", log.line)


def test_keys_come_in_order_and_are_shown_as_klog_does(log: Logging) -> None:
    log.start()
    keys = {
        "pod": "default/web",
        "count": 3,
        "ratio": 0.5,
        "ok": True,
        "none": None,
        "plugins": ["A", "B"],
        "at": {"a": 1},
    }
    logger.info("Moved", extra=keys)
    assert log.told == ('"Moved" pod="default/web" count=3 ratio=0.5 ok=true none=<nil> plugins=["A","B"] at={"a":1}')


def test_arguments_go_into_the_message(log: Logging) -> None:
    log.start()
    logger.info("%s of %d", "one", 2)
    assert log.told == '"one of 2"'


@pytest.mark.parametrize(
    ("level", "shown"), [(0, [0]), (2, [0, 2]), (4, [0, 2, 4]), (10, [0, 2, 4, 5, 10]), (99, [0, 2, 4, 5, 10])]
)
def test_verbosity_shows_more(log: Logging, level: int, shown: list[int]) -> None:
    log.start(level=level)
    for item in (0, 2, 4, 5, 10):
        logger.log(logs.verbosity(item), "%d", item)
    assert [int(line.split('"')[1]) for line in log.lines] == shown


def test_of_other_libraries_only_warnings_are_shown(log: Logging) -> None:
    log.start(level=10)
    logging.getLogger("uvicorn.error").info("started")
    logging.getLogger("aiohttp").warning("slow")
    assert log.told == '"slow"'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("two\nlines", r'"two\nlines"'),
        ("a\r\nb\tc", r'"a\r\nb\tc"'),
        ('say "hi" \\', r'"say \"hi\" \\"'),
        ("red \x1b[31m", r'"red \u001b[31m"'),
        ("next\x85line\u2028sep", r'"next\u0085line\u2028sep"'),
        ("tag \U000e0041", r'"tag \udb40\udc41"'),
        ("größer ☸", '"größer ☸"'),
        ("", '""'),
    ],
)
def test_a_record_is_one_line_whatever_it_says(log: Logging, text: str, shown: str) -> None:
    log.start()
    logger.info(text.replace("%", "%%"), extra={"key": text})
    assert log.told == f"{shown} key={shown}"


@pytest.mark.parametrize("text", ["two\nlines", "next\x85line\u2028sep", "tag \U000e0041", 'say "hi" \\'])
def test_a_json_record_is_one_line_and_keeps_the_text(log: Logging, text: str) -> None:
    log.start("json")
    logger.info("x", extra={"key": text})
    assert log.line.isprintable()
    assert json.loads(log.line)["key"] == text


def test_half_a_surrogate_pair_does_not_cost_the_line() -> None:
    """Not through logging: pytest keeps what is logged, and cannot pass this on."""
    record = logging.makeLogRecord(
        {"levelno": logging.INFO, "lineno": 1, "msg": "file", "filename": "x.py", "path": "half \udcff"}
    )
    assert logs.KlogFormatter().format(record).endswith(r'] "file" path="half \udcff"')
    assert json.loads(logs.JsonFormatter().format(record))["path"] == "half \udcff"


def test_a_long_text_is_cut_before_it_is_searched_for_secrets(log: Logging, monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []
    monkeypatch.setattr(logs, "without_secrets", lambda text: searched.append(text) or "searched")
    log.start()
    logger.warning("x" * 100_000, extra={"cause": "y" * 100_000})
    assert [len(text) for text in searched] == [16 * 1024] * 2


def test_a_key_that_is_no_word_is_quoted(log: Logging) -> None:
    log.start()
    logger.info("x", extra={'a b="c"': 1})
    assert log.told == r'"x" "a b=\"c\""=1'


def test_json_has_the_keys_of_klog(log: Logging) -> None:
    log.start("json", level=2)
    before = time.time()
    logger.log(logs.verbosity(2), "Bound", extra={"pod": "default/web", "nodes": 3, "far": float("inf")})
    told = json.loads(log.line)
    assert before * 1000 - 1 <= told.pop("ts") <= time.time() * 1000 + 1
    assert re.fullmatch(r"test_logs\.py:\d+", told.pop("caller"))
    assert told == {"level": "info", "msg": "Bound", "v": 2, "pod": "default/web", "nodes": 3, "far": "inf"}


def test_only_information_has_a_verbosity_in_json(log: Logging) -> None:
    log.start("json")
    logger.error("Broken", extra={"err": "no route"})
    told = json.loads(log.line)
    assert (told["level"], told["err"], "v" in told) == ("error", "no route", False)


def test_keys_of_json_lines_cannot_hide_our_own(log: Logging) -> None:
    log.start("json")
    logger.info("true", extra={"ts": 0, "level": "none", "caller": "me"})
    told = json.loads(log.line)
    assert told["ts"] > 0
    assert told["level"] == "info"
    assert told["caller"].startswith("test_logs.py")


@pytest.mark.parametrize("kind", ["text", "json"])
def test_an_exception_is_an_error_and_a_stack_on_the_same_line(log: Logging, kind: logs.LogFormat) -> None:
    log.start(kind)
    try:
        raise ValueError("bad\nvalue")
    except ValueError:
        logger.exception("Failed")
    if kind == "json":
        told = json.loads(log.line)
        assert told["err"] == "bad\nvalue"
        assert "raise ValueError" in told["stacktrace"]
    else:
        assert r'"Failed" err="bad\nvalue" stacktrace="Traceback' in log.line


# ---------------------------------------------------------------------- guests


def guest_says(text: str, severity: int = 0) -> None:
    guest = logging.getLogger("kubewasp.guest")
    guest.log(level_of(severity), "Policy: %s", text, extra={"plugin": "Policy", "guest_line": text})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text", '"plain text" plugin="Policy"'),
        ('"Scored" node="n1" score="7"', '"Scored" node="n1" score="7" plugin="Policy"'),
        ('"Scored" plugin="Other"', '"Scored" plugin="Policy"'),
        ("a\nI0101 00:00:00.000000 1 x.py:1] fake", r'"a\nI0101 00:00:00.000000 1 x.py:1] fake" plugin="Policy"'),
        ('"half', r'"\"half" plugin="Policy"'),
        ('"bad \\x" a="b"', r'"\"bad \\x\" a=\"b\"" plugin="Policy"'),
        ("", '"" plugin="Policy"'),
    ],
)
def test_a_guests_line_keeps_its_plugins_name(log: Logging, text: str, shown: str) -> None:
    log.start()
    guest_says(text)
    assert log.told == shown


def test_a_guests_line_in_json(log: Logging) -> None:
    log.start("json")
    guest_says('"Scored" node="n\\n1"', severity=3)
    told: dict[str, Any] = json.loads(log.line)
    assert {name: told[name] for name in ("level", "msg", "node", "plugin")} == {
        "level": "error",
        "msg": "Scored",
        "node": "n\n1",
        "plugin": "Policy",
    }


# ---------------------------------------------------------------------- secrets


@pytest.mark.parametrize("kind", ["text", "json"])
def test_secrets_are_in_no_part_of_a_line(log: Logging, kind: logs.LogFormat) -> None:
    log.start(kind)
    url = "https://joe:hunter2@guests.example/policy.wasm?token=hunter2"
    try:
        raise ValueError(f"cannot fetch {url}")
    except ValueError:
        logger.exception(
            "Fetching %s", url, extra={"url": url, "password": "hunter2", "all": [url, {"token": "hunter2"}], "code": 7}
        )
    guest_says("Authorization: Bearer hunter2")
    guest_says('"Logged in" password="hunter2"')
    text = log.stream.getvalue()
    assert "hunter2" not in text
    assert text.count("REDACTED") >= 8
    assert "guests.example/policy.wasm" in text
