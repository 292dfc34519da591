;; The one hook that may stand alone.
(module
  (memory (export "memory") 1)
  (func (export "prefilter") (result i32) (i32.const 0)))
