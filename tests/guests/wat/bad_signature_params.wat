;; Load error: a hook takes no parameters.
(module
  (memory (export "memory") 1)
  (func (export "filter") (param i32) (result i32) (i32.const 0)))
