;; PreScore: answers 2 with the list of feasible nodes (JSON) as the reason.
(module
  (import "k8s.io/scheduler" "filteredNodeList" (func $filtered_nodes (param i32 i32) (result i32)))
  (import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))
  (memory (export "memory") 1)
  (func (export "prescore") (result i32)
    (call $reason (i32.const 0) (call $filtered_nodes (i32.const 0) (i32.const 65536)))
    (i32.const 2))
  (func (export "score") (result i64) (i64.const 0)))
