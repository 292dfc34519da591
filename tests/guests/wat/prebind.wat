;; PreBind: answers status_code with the node's name as the reason.
(module
  (import "k8s.io/scheduler" "currentNodeName" (func $node_name (param i32 i32) (result i32)))
  (import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))
  (memory (export "memory") 1)
  (global $status_code (export "status_code") (mut i32) (i32.const 0))
  (func (export "bind") (result i32) (i32.const 5)) ;; Skip: leave it to another binder
  (func (export "prebind") (result i32)
    (call $reason (i32.const 0) (call $node_name (i32.const 0) (i32.const 1024)))
    (global.get $status_code)))
