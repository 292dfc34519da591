;; Looks for the waiting pod "uid-1", then rejects it. Answers 2 with what the host said to each:
;; "waiting, rejected", or "missing, declined" when no such pod waits.
(module
  (import "k8s.io/scheduler" "handle.get_waiting_pod" (func $get_waiting_pod (param i32 i32 i32 i32)))
  (import "k8s.io/scheduler" "handle.reject_waiting_pod" (func $reject_waiting_pod (param i32 i32 i32 i32)))
  (import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "uid-1")
  (data (i32.const 16) "waitingmissing")
  (data (i32.const 32) "rejecteddeclined")
  (data (i32.const 48) "       ,         ") ;; the reason: a word of 7 letters, a word of 8
  (func (export "filter") (result i32)
    ;; No length comes back: eight zero bytes mean "none", and no protobuf begins with them.
    (i64.store (i32.const 1024) (i64.const 0))
    (call $get_waiting_pod (i32.const 0) (i32.const 5) (i32.const 1024) (i32.const 32768))
    (memory.copy (i32.const 48)
      (select (i32.const 23) (i32.const 16) (i64.eqz (i64.load (i32.const 1024)))) (i32.const 7))
    (i64.store (i32.const 1024) (i64.const 0))
    (call $reject_waiting_pod (i32.const 0) (i32.const 5) (i32.const 1024) (i32.const 8))
    (memory.copy (i32.const 57)
      (select (i32.const 40) (i32.const 32) (i64.eqz (i64.load (i32.const 1024)))) (i32.const 8))
    (call $reason (i32.const 48) (i32.const 17))
    (i32.const 2)))
