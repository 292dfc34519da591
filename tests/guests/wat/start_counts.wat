;; Counts its starts; filter answers 2 and "starts: N" (one digit).
(module
  (import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))
  (memory (export "memory") 1)
  (global $starts (export "starts") (mut i32) (i32.const 0))
  (data (i32.const 0) "starts: ")
  (func (export "_start") (global.set $starts (i32.add (global.get $starts) (i32.const 1))))
  (func (export "filter") (result i32)
    (i32.store8 (i32.const 8) (i32.add (i32.const 48) (global.get $starts)))
    (call $reason (i32.const 0) (i32.const 9))
    (i32.const 2)))
