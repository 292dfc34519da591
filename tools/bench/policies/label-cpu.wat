;; The requested CPU of a node in milli, modulo 49, and 50 more in the zone eu-west-1a.
;; The classic ABI has no requested amounts of a node: they come from kubewasp/v1.
(module
  ;;@include parts/labels.wat

  (data (i32.const 0) "topology.kubernetes.io/zone")
  (data (i32.const 64) "eu-west-1a")
  (global $label i32 (i32.const 0))
  (global $label_length i32 (i32.const 27))
  (global $value i32 (i32.const 64))
  (global $value_length i32 (i32.const 10))

  (func (export "score") (result i64)
    (local $points i64)
    (local.set $points (select (i64.const 50) (i64.const 0) (call $look)))
    (i64.shl
      (i64.add (local.get $points) (i64.rem_u (call $requested_cpu) (i64.const 49)))
      (i64.const 32)))

  ;;@include parts/protobuf.wat
)
