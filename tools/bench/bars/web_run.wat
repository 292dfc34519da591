(module ;; answers a line of text to a message
  (import "httpwasm" "oputs" (func $oputs (param i32 i32)))
  (memory (export "memory") 2)
  (data (i32.const 0) "hello, world\n")
  (func (export "malloc") (param i32) (result i32) (i32.const 1024))
  (func (export "free") (param i32))
  (func (export "run") (param i32 i32)
    (call $oputs (i32.const 0) (i32.const 13))))
