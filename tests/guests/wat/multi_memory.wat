;; A second memory beside the exported one. Filter succeeds when the two are kept apart.
(module
  (memory (export "memory") 1)
  (memory $own 1)
  (func (export "filter") (result i32)
    (i32.store8 $own (i32.const 0) (i32.const 1))
    (i32.load8_u (i32.const 0))))
