"""Guests of the tests, in WebAssembly text, and published ones."""

from pathlib import Path

from tests.guests.build import published, wat_text

_HANDLER_IMPORTS = """
  (import "kubewasp_http" "request_method" (func $method (result i64)))
  (import "kubewasp_http" "request_path" (func $path (result i64)))
  (import "kubewasp_http" "request_query" (func $query (result i64)))
  (import "kubewasp_http" "request_header" (func $header (param i32 i32) (result i64)))
  (import "kubewasp_http" "request_headers" (func $headers (result i64)))
  (import "kubewasp_http" "request_read" (func $read (param i32 i32) (result i32)))
  (import "kubewasp_http" "config" (func $config (result i64)))
  (import "kubewasp_http" "response_status" (func $status (param i32)))
  (import "kubewasp_http" "response_header" (func $add_header (param i32 i32 i32 i32)))
  (import "kubewasp_http" "response_write" (func $write (param i32 i32)))
  (import "kubewasp_http" "log" (func $log (param i32 i32 i32)))
"""
# Bump allocator with a count of allocations.
_ALLOCATOR = """
  (global $next (mut i32) (i32.const 4096))
  (global $pieces (mut i32) (i32.const 0))
  (func $malloc (export "malloc") (param $size i32) (result i32)
    (local $at i32)
    (local.set $at (global.get $next))
    (global.set $next (i32.add (global.get $next) (local.get $size)))
    (global.set $pieces (i32.add (global.get $pieces) (i32.const 1)))
    (local.get $at))
  (func $free (export "free") (param i32)
    (global.set $pieces (i32.sub (global.get $pieces) (i32.const 1))))
"""
# `write_string` writes a string of the host and frees it.
_STRING_ALLOCATOR = (
    _ALLOCATOR
    + """
  (func $address (param i64) (result i32) (i32.wrap_i64 (i64.shr_u (local.get 0) (i64.const 32))))
  (func $length (param i64) (result i32) (i32.wrap_i64 (local.get 0)))
  (func $pack (param i32 i32) (result i64)
    (i64.or (i64.shl (i64.extend_i32_u (local.get 0)) (i64.const 32)) (i64.extend_i32_u (local.get 1))))
  (func $write_string (param $string i64)
    (if (i64.ne (local.get $string) (i64.const 0)) (then
      (call $write (call $address (local.get $string)) (call $length (local.get $string)))
      (call $free (call $address (local.get $string))))))
"""
)


def handler(run: str, *, more: str = "", memory: str = "2", allocator: str = _STRING_ALLOCATOR) -> Path:
    """Guest of style module; `run` is the body of its `run`, with an i64 as the result."""
    return wat_text(
        f"""(module {_HANDLER_IMPORTS}
          (memory (export "memory") {memory})
          {allocator}
          {more}
          (func (export "run") (result i64) {run}))""",
        "web-handler",
    )


_MIDDLEWARE_IMPORTS = """
  (import "http_handler" "enable_features" (func $enable_features (param i32) (result i32)))
  (import "http_handler" "get_config" (func $get_config (param i32 i32) (result i32)))
  (import "http_handler" "log" (func $log (param i32 i32 i32)))
  (import "http_handler" "log_enabled" (func $log_enabled (param i32) (result i32)))
  (import "http_handler" "get_method" (func $get_method (param i32 i32) (result i32)))
  (import "http_handler" "set_method" (func $set_method (param i32 i32)))
  (import "http_handler" "get_uri" (func $get_uri (param i32 i32) (result i32)))
  (import "http_handler" "set_uri" (func $set_uri (param i32 i32)))
  (import "http_handler" "get_protocol_version" (func $get_protocol_version (param i32 i32) (result i32)))
  (import "http_handler" "get_source_addr" (func $get_source_addr (param i32 i32) (result i32)))
  (import "http_handler" "get_header_names" (func $get_header_names (param i32 i32 i32) (result i64)))
  (import "http_handler" "get_header_values" (func $get_header_values (param i32 i32 i32 i32 i32) (result i64)))
  (import "http_handler" "set_header_value" (func $set_header_value (param i32 i32 i32 i32 i32)))
  (import "http_handler" "add_header_value" (func $add_header_value (param i32 i32 i32 i32 i32)))
  (import "http_handler" "remove_header" (func $remove_header (param i32 i32 i32)))
  (import "http_handler" "read_body" (func $read_body (param i32 i32 i32) (result i64)))
  (import "http_handler" "write_body" (func $write_body (param i32 i32 i32)))
  (import "http_handler" "get_status_code" (func $get_status_code (result i32)))
  (import "http_handler" "set_status_code" (func $set_status_code (param i32)))
"""


def middleware(request: str = "(i64.const 1)", response: str = "", *, more: str = "") -> Path:
    """Guest of the http-wasm ABI; the result of handle_request is ctx_next, handle_response has $ctx and $error."""
    return wat_text(
        f"""(module {_MIDDLEWARE_IMPORTS}
          (memory (export "memory") 2)
          {more}
          (func (export "handle_request") (result i64) {request})
          (func (export "handle_response") (param $ctx i32) (param $error i32) {response}))""",
        "web-middleware",
    )


ECHO = """
  (local $count i32)
  (loop $again
    (local.set $count (call $read (i32.const 65536) (i32.const 65536)))
    (if (local.get $count) (then
      (call $write (i32.const 65536) (local.get $count))
      (br $again))))
  (i64.const 0)
"""


def runner(
    run: str, *, more: str = "", message: bool = False, module: str = "httpwasm", allocator: str = _ALLOCATOR
) -> Path:
    """Guest of style run; `run` is the body of its `run()`, or `run(ptr, len)` with `message`."""
    parameters = "(param $at i32) (param $length i32)" if message else ""
    return wat_text(
        f"""(module
          (import "{module}" "oputs" (func $oputs (param i32 i32)))
          (import "{module}" "eputs" (func $eputs (param i32 i32)))
          {"" if message else f'(import "{module}" "igets" (func $igets (result i64)))'}
          (memory (export "memory") 2)
          {allocator}
          {more}
          (func (export "_start"))
          (func (export "run") {parameters} {run}))""",
        "web-run",
    )


def published_guest(name: str) -> Path:
    """An example of the http-wasm project."""
    module, checksum = "github.com/http-wasm/http-wasm-host-go", "h1:+1KrRyOO6tWiDB24QrtSYyDmzFLBBs3jioKaUT0mq1c="
    return published(module, "v0.7.0", checksum, f"examples/{name}.wasm")
