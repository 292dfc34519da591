;; Traps while it starts.
(module
  (memory (export "memory") 1)
  (func (export "_start") unreachable)
  (func (export "filter") (result i32) (i32.const 0)))
