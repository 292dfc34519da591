;; Load error: a shared memory needs threads.
(module
  (memory (export "memory") 1 1 shared)
  (func (export "filter") (result i32) (i32.const 0)))
