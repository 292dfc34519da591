;; A WASI reactor: _initialize reads the config and logs it; filter gives it back as the reason, status 2.
(module
  (import "k8s.io/scheduler" "get_config" (func $get_config (param i32 i32) (result i32)))
  (import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))
  (import "k8s.io/klog" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 1)
  (global $length (mut i32) (i32.const 0))
  (func (export "_initialize")
    (global.set $length (call $get_config (i32.const 0) (i32.const 65536)))
    (call $log (i32.const 0) (i32.const 0) (global.get $length)))
  (func (export "filter") (result i32)
    (call $reason (i32.const 0) (global.get $length))
    (i32.const 2)))
