;; Logs three times with the severity of its global: a plain line, key-value pairs, and a value that needs quoting.
;; `level` is left with what the host says its level is.
(module
  (import "k8s.io/klog" "severity" (func $severity (result i32)))
  (import "k8s.io/klog" "log" (func $log (param i32 i32 i32)))
  (import "k8s.io/klog" "logs" (func $logs (param i32 i32 i32 i32 i32)))
  (memory (export "memory") 1)
  (global $with (export "severity") (mut i32) (i32.const 0)) ;; 0 info, 1 warning, 2 error, 3 fatal
  (global $level (export "level") (mut i32) (i32.const -1))
  (data (i32.const 0) "hello")
  (data (i32.const 16) "moved")
  (data (i32.const 32) "pod\00a\00node\00b\00")
  (data (i32.const 48) "quoted")
  (data (i32.const 64) "text\00say \"hi\"\nand bye\00")
  (func (export "filter") (result i32)
    (global.set $level (call $severity))
    (call $log (global.get $with) (i32.const 0) (i32.const 5))
    (call $logs (global.get $with) (i32.const 16) (i32.const 5) (i32.const 32) (i32.const 13))
    (call $logs (global.get $with) (i32.const 48) (i32.const 6) (i32.const 64) (i32.const 22))
    (i32.const 0)))
