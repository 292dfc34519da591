;; Takes four more pages of memory for every pod, writes to them, and never gives one back.
(module
  (memory (export "memory") 1)
  (func (export "reserve") (result i32)
    (local $page i32)
    (local.set $page (memory.grow (i32.const 4)))
    (if (i32.eq (local.get $page) (i32.const -1)) (then unreachable)) ;; the host should have replaced the instance
    (i32.store8 (i32.shl (local.get $page) (i32.const 16)) (i32.const 1))
    (i32.const 0)))
