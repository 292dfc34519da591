;; Load error: exports no hook.
(module
  (memory (export "memory") 1)
  (func (export "main") (result i32) (i32.const 0)))
