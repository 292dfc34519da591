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
    text = _TEXT
    for name, number in {"$policy": "", "$cheap": "0", "$expensive_label_scan": "1", "$filter": ""}.items():
        text = text.replace(f"func {name}", "func").replace(f"module {name}", "module").replace(f"call {name}", f"call {number}")
    return wat_text(text.replace("$left", "0").replace("(local 0 i32)", "(local i32)"), "burner-unnamed")
