;; Load error: prescore without score is no plugin.
(module
  (memory (export "memory") 1)
  (func (export "prescore") (result i32) (i32.const 0)))
