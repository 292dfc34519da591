(module ;; reads the address of the request and lets it pass
  (import "http_handler" "get_uri" (func $get_uri (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "handle_request") (result i64)
    (drop (call $get_uri (i32.const 0) (i32.const 1024)))
    (i64.const 1))
  (func (export "handle_response") (param i32 i32)))
