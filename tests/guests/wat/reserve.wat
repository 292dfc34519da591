;; Reserve: answers status_code with the node's name as the reason. Unreserve: logs the node's name and counts.
(module
  (import "k8s.io/scheduler" "currentNodeName" (func $node_name (param i32 i32) (result i32)))
  (import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))
  (import "k8s.io/klog" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 1)
  (global $status_code (export "status_code") (mut i32) (i32.const 0))
  (global $unreserved (export "unreserved") (mut i32) (i32.const 0))
  (data (i32.const 0) "unreserve ") ;; the node's name is written behind it
  (func (export "reserve") (result i32)
    (call $reason (i32.const 10) (call $node_name (i32.const 10) (i32.const 1024)))
    (global.get $status_code))
  (func (export "unreserve")
    (global.set $unreserved (i32.add (global.get $unreserved) (i32.const 1)))
    (call $log (i32.const 0) (i32.const 0)
      (i32.add (i32.const 10) (call $node_name (i32.const 10) (i32.const 1024))))))
