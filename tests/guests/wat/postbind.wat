;; PostBind: logs the node's name and counts.
(module
  (import "k8s.io/scheduler" "currentNodeName" (func $node_name (param i32 i32) (result i32)))
  (import "k8s.io/klog" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 1)
  (global $bound (export "bound") (mut i32) (i32.const 0))
  (data (i32.const 0) "postbind ") ;; the node's name is written behind it
  (func (export "bind") (result i32) (i32.const 5)) ;; Skip: leave it to another binder
  (func (export "postbind")
    (global.set $bound (i32.add (global.get $bound) (i32.const 1)))
    (call $log (i32.const 0) (i32.const 0)
      (i32.add (i32.const 9) (call $node_name (i32.const 9) (i32.const 1024))))))
