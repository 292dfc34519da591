;; A trap in enqueue has to fail the load.
(module
  (memory (export "memory") 1)
  (func (export "enqueue") unreachable)
  (func (export "filter") (result i32) (i32.const 0)))
