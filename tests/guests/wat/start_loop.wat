;; Never finishes starting.
(module
  (memory (export "memory") 1)
  (func (export "_start") (loop $forever (br $forever)))
  (func (export "filter") (result i32) (i32.const 0)))
