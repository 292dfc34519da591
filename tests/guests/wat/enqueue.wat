;; Registers for two cluster events: Node added or relabelled, and Pod deleted.
(module
  (import "k8s.io/scheduler" "result.cluster_events" (func $cluster_events (param i32 i32)))
  (memory (export "memory") 1)
  ;; n pairs of u32: resource, action bits
  (data (i32.const 0)
    "\01\00\00\00" "\09\00\00\00"  ;; 1 Node: 1 add | 8 label
    "\00\00\00\00" "\02\00\00\00") ;; 0 Pod: 2 delete
  (func (export "enqueue") (call $cluster_events (i32.const 0) (i32.const 16)))
  (func (export "filter") (result i32) (i32.const 0)))
