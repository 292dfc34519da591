"""A guest with a name section in which one function takes nearly all of the time."""

from pathlib import Path

from tests.guests.build import wat_text

# Some 10 ms a call.
_TEXT = """(module $policy
  (memory (export "memory") 1)
  (func $cheap (result i32) (i32.const 0))
  (func $expensive_label_scan (result i32) (local $left i32)
    (local.set $left (i32.const 20000000))
    (loop $again
      (local.set $left (i32.sub (local.get $left) (i32.const 1)))
      (br_if $again (local.get $left)))
    (local.get $left))
  (func $filter (export "filter") (result i32) (i32.add (call $cheap) (call $expensive_label_scan))))"""


def burner() -> Path:
    return wat_text(_TEXT, "burner")


def unnamed_burner() -> Path:
    """The same without names."""
    numbers = {"(module $policy": "(module", "call $cheap": "call 0", "call $expensive_label_scan": "call 1"}
    numbers |= {"(local $left i32)": "(local i32)", "$left": "0", "$again": "0"}
    numbers |= {f"(func {name}": "(func" for name in ("$cheap", "$expensive_label_scan", "$filter")}
    text = _TEXT.replace("(loop $again", "(loop")
    for name, number in numbers.items():
        text = text.replace(name, number)
    return wat_text(text, "burner-unnamed")
