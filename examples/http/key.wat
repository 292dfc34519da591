;; Middleware of the http-wasm ABI: 401 unless the header X-Key equals the configured key.
(module
  (import "http_handler" "get_config" (func $get_config (param i32 i32) (result i32)))
  (import "http_handler" "get_header_values" (func $get_values (param i32 i32 i32 i32 i32) (result i64)))
  (import "http_handler" "set_status_code" (func $set_status (param i32)))
  (import "http_handler" "write_body" (func $write_body (param i32 i32 i32)))

  (memory (export "memory") 1)
  (data (i32.const 0) "x-keyno, or the wrong, X-Key\n")

  (func (export "handle_request") (result i64)
    (local $length i32) (local $found i64) (local $at i32)
    (local.set $length (call $get_config (i32.const 1024) (i32.const 1024)))
    (local.set $found (call $get_values (i32.const 0) (i32.const 0) (i32.const 5) (i32.const 2048) (i32.const 1024)))
    (block $refused
      ;; One value, with the length of the key and a NUL.
      (br_if $refused (i64.ne
        (local.get $found)
        (i64.or (i64.const 0x100000000) (i64.extend_i32_u (i32.add (local.get $length) (i32.const 1))))))
      (loop $compare
        (br_if $refused (i32.ne
          (i32.load8_u offset=1024 (local.get $at))
          (i32.load8_u offset=2048 (local.get $at))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br_if $compare (i32.lt_u (local.get $at) (local.get $length))))
      (return (i64.const 1))) ;; next handler
    (call $set_status (i32.const 401))
    (call $write_body (i32.const 1) (i32.const 5) (i32.const 24))
    (i64.const 0)) ;; response complete

  (func (export "handle_response") (param i32 i32)))
