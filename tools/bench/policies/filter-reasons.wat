;; Rejects closed nodes and nodes with little free CPU, with a reason for each.
;; The classic ABI has no requested amounts of a node: they come from kubewasp/v1.
(module
  (import "k8s.io/scheduler" "result.status_reason" (func $status_reason (param i32 i32)))
  ;;@include parts/labels.wat

  (data (i32.const 0) "kubewasp.dev/closed")
  (data (i32.const 64) "true")
  (data (i32.const 128) "node is closed to new pods")
  (data (i32.const 192) "node has less than 20 % of its CPU left")
  (global $label i32 (i32.const 0))
  (global $label_length i32 (i32.const 19))
  (global $value i32 (i32.const 64))
  (global $value_length i32 (i32.const 4))

  ;; 2 is Unschedulable, 3 is UnschedulableAndUnresolvable.
  (func (export "filter") (result i32)
    (if (call $look)
      (then
        (call $status_reason (i32.const 128) (i32.const 26))
        (return (i32.const 3))))
    (if (i64.gt_u
          (i64.mul (call $requested_cpu) (i64.const 5)) (i64.mul (call $allocatable_cpu) (i64.const 4)))
      (then
        (call $status_reason (i32.const 192) (i32.const 39))
        (return (i32.const 2))))
    (i32.const 0))

  ;;@include parts/protobuf.wat
)
