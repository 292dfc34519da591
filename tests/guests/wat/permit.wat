;; Permit: high half of the answer is the status, low half the timeout in ms (the other way round from score).
(module
  (import "k8s.io/scheduler" "currentNodeName" (func $node_name (param i32 i32) (result i32)))
  (import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))
  (memory (export "memory") 1)
  (global $status_code (export "status_code") (mut i32) (i32.const 0))
  (global $timeout (export "timeout") (mut i32) (i32.const 0))
  (func (export "permit") (result i64)
    (call $reason (i32.const 0) (call $node_name (i32.const 0) (i32.const 1024)))
    (i64.or (i64.shl (i64.extend_i32_u (global.get $status_code)) (i64.const 32))
            (i64.extend_i32_u (global.get $timeout)))))
