;; Calls the host from the module's own start section, that is while it is being instantiated.
(module
  (import "k8s.io/klog" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "from the start section")
  (func $begin (call $log (i32.const 0) (i32.const 0) (i32.const 22)))
  (start $begin)
  (func (export "filter") (result i32) (i32.const 0)))
