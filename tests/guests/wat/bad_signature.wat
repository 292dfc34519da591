;; Load error: filter has to be () -> (i32).
(module
  (memory (export "memory") 1)
  (func (export "filter") (result i64) (i64.const 0)))
