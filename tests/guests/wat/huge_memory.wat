;; Asks for 4 GiB before it has done anything.
(module
  (memory (export "memory") 65536)
  (func (export "filter") (result i32) (i32.const 0)))
