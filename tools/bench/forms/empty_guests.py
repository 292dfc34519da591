"""Empty guests: the time of a call is the time of crossing into the sandbox and back."""

from __future__ import annotations

from typing import Final

import orjson

from tools.bench.policies.policy_list import POINTS

_PAGE: Final = 65536
_HOOKS: Final = {
    "filter": '(func (export "filter") (result i32) (i32.const 0))',
    "preScore": '(func (export "prescore") (result i32) (i32.const 0))',
    "score": '(func (export "score") (result i64) (i64.const 0))',
}
_DESCRIPTION: Final = orjson.dumps(
    {"protocol": 1, "hooks": ["score"], "events": None, "wants": [], "signature": 0, "logs": []}
).decode()
_DESCRIPTION_AT, _RESULT_AT, _ANSWER_AT = 1024, 64, 4096


def module(policy: str) -> str:
    """A core module with the hooks of the policy."""
    return f'(module (memory (export "memory") 1) {" ".join(_HOOKS[point] for point in POINTS[policy])})'


def component(request: int, answer: int) -> str:
    """A component that takes texts of a given length and answers with texts of a given length."""
    request_at = _ANSWER_AT + answer + 8 & -8
    pages = (request_at + request) // _PAGE + 2
    description = _DESCRIPTION.replace('"', '\\"')
    result = '(param "{}" string) (result string)'
    lifted = (
        '(canon lift (core func $core "{name}") (memory (core memory $core "memory")) '
        '(realloc (core func $core "realloc")) (post-return (core func $core "done")))'
    )
    return f"""(component
  (core module $code
    (memory (export "memory") {pages})
    (data (i32.const {_DESCRIPTION_AT}) "{description}")
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const {request_at}))
    (func $told (param i32 i32) (result i32)
      (i32.store (i32.const {_RESULT_AT}) (local.get 0))
      (i32.store (i32.const {_RESULT_AT + 4}) (local.get 1))
      (i32.const {_RESULT_AT}))
    (func (export "start") (param i32 i32) (result i32)
      (call $told (i32.const {_DESCRIPTION_AT}) (i32.const {len(_DESCRIPTION)})))
    (func (export "call") (param i32 i32) (result i32) (call $told (i32.const {_ANSWER_AT}) (i32.const {answer})))
    (func (export "done") (param i32)))
  (core instance $core (instantiate $code))
  (func (export "start") {result.format("settings")} {lifted.format(name="start")})
  (func (export "call") {result.format("request")} {lifted.format(name="call")}))"""
