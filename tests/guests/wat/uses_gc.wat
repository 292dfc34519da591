;; Load error: needs the garbage-collection proposal.
(module
  (memory (export "memory") 1)
  (type $box (struct (field i32)))
  (func (export "filter") (result i32) (struct.get $box 0 (struct.new $box (i32.const 0)))))
