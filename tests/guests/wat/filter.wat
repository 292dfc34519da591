;; Filter: answers status_code.
(module
  (import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))
  (memory (export "memory") 1)
  (global $status_code (export "status_code") (mut i32) (i32.const 0))
  (data (i32.const 0) "filter says no")
  (func (export "filter") (result i32)
    (call $reason (i32.const 0) (i32.const 14))
    (global.get $status_code)))
