;; PostFilter: nominates node-2. High half of the answer: nominating mode; low half: status.
(module
  (import "k8s.io/scheduler" "result.nominated_node_name" (func $nominate (param i32 i32)))
  (import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))
  (memory (export "memory") 1)
  (global $mode (export "mode") (mut i32) (i32.const 1)) ;; 0 noop, 1 override
  (global $status_code (export "status_code") (mut i32) (i32.const 0))
  (data (i32.const 0) "node-2")
  (data (i32.const 16) "postfilter says no")
  (func (export "filter") (result i32) (i32.const 0))
  (func (export "postfilter") (result i64)
    (call $nominate (i32.const 0) (i32.const 6))
    (call $reason (i32.const 16) (i32.const 18))
    (i64.or (i64.shl (i64.extend_i32_u (global.get $mode)) (i64.const 32))
            (i64.extend_i32_u (global.get $status_code)))))
