;; PreFilter: narrows the cycle to node-1 and node-3, then answers status_code.
(module
  (import "k8s.io/scheduler" "result.node_names" (func $node_names (param i32 i32)))
  (import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))
  (memory (export "memory") 1)
  (global $status_code (export "status_code") (mut i32) (i32.const 0))
  (data (i32.const 0) "node-1\00node-3\00")
  (data (i32.const 16) "prefilter says no")
  (func (export "prefilter") (result i32)
    (call $node_names (i32.const 0) (i32.const 14))
    (call $reason (i32.const 16) (i32.const 17))
    (global.get $status_code))
  (func (export "filter") (result i32) (i32.const 0)))
