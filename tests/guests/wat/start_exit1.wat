;; Refuses its configuration: text on stderr, then proc_exit(1).
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "bad config")
  (data (i32.const 16) "\00\00\00\00\0a\00\00\00") ;; iovec: the 10 bytes at 0
  (func (export "_start")
    (drop (call $fd_write (i32.const 2) (i32.const 16) (i32.const 1) (i32.const 24)))
    (call $proc_exit (i32.const 1)))
  (func (export "filter") (result i32) (i32.const 0)))
