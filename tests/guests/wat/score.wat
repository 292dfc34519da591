;; Score: the same (signed) points for every node. High half of the answer: score; low half: status.
(module
  (import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))
  (memory (export "memory") 1)
  (global $points (export "points") (mut i32) (i32.const 0))
  (global $status_code (export "status_code") (mut i32) (i32.const 0))
  (data (i32.const 0) "score says no")
  (func (export "score") (result i64)
    (call $reason (i32.const 0) (i32.const 13))
    (i64.or (i64.shl (i64.extend_i32_u (global.get $points)) (i64.const 32))
            (i64.extend_i32_u (global.get $status_code)))))
