;; Load error: exports no memory.
(module
  (func (export "filter") (result i32) (i32.const 0)))
