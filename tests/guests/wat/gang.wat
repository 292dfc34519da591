;; Holds pods back until `size` of them are there, then decides about those that wait: allows them (`decision` 1), or
;; rejects them and itself (2), with the reason "the gang is broken up". With `unreserving` and `bound`, it decides so in
;; unreserve (2 rejects) and in postbind as well; 0 does nothing. `timeout` is in ms.
(module
  (import "kubewasp/v1" "waiting_pods" (func $waiting_pods (param i32 i32) (result i32)))
  (import "kubewasp/v1" "allow_waiting_pod" (func $allow (param i32 i32) (result i32)))
  (import "kubewasp/v1" "reject_waiting_pod" (func $reject (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 2)
  (global $size (export "size") (mut i32) (i32.const 3))
  (global $decision (export "decision") (mut i32) (i32.const 1))
  (global $unreserving (export "unreserving") (mut i32) (i32.const 0))
  (global $bound (export "bound") (mut i32) (i32.const 0))
  (global $timeout (export "timeout") (mut i32) (i32.const 10000))
  (data (i32.const 0) "the gang is broken up")

  (global $at (mut i32) (i32.const 0))
  (func $varint (result i32)
    (local $value i32) (local $shift i32) (local $byte i32)
    (loop $next
      (local.set $byte (i32.load8_u (global.get $at)))
      (global.set $at (i32.add (global.get $at) (i32.const 1)))
      (local.set $value
        (i32.or (local.get $value)
          (i32.shl (i32.and (local.get $byte) (i32.const 127)) (local.get $shift))))
      (local.set $shift (i32.add (local.get $shift) (i32.const 7)))
      (br_if $next (i32.ge_u (local.get $byte) (i32.const 128))))
    (local.get $value))

  ;; Goes through the waiting pods, counts them and decides about each: 0 does nothing, 1 allows, 2 rejects.
  (func $each (param $decision i32) (result i32)
    (local $count i32) (local $end i32) (local $pod_end i32) (local $length i32)
    (global.set $at (i32.const 1024))
    (local.set $end (i32.add (i32.const 1024) (call $waiting_pods (i32.const 1024) (i32.const 65536))))
    (loop $next
      (if (i32.lt_u (global.get $at) (local.get $end))
        (then
          (drop (call $varint)) ;; the tag of an item
          (local.set $length (call $varint))
          (local.set $pod_end (i32.add (global.get $at) (local.get $length)))
          (drop (call $varint)) ;; the tag of the metadata
          (drop (call $varint))
          (block $found
            (loop $field
              (br_if $found (i32.eq (call $varint) (i32.const 0x2a))) ;; the tag of the uid
              (local.set $length (call $varint))
              (global.set $at (i32.add (global.get $at) (local.get $length)))
              (br $field)))
          (local.set $length (call $varint))
          (if (i32.eq (local.get $decision) (i32.const 1))
            (then
              (if (i32.eqz (call $allow (global.get $at) (local.get $length))) (then (unreachable)))))
          (if (i32.eq (local.get $decision) (i32.const 2))
            (then
              (if (i32.eqz (call $reject (global.get $at) (local.get $length) (i32.const 0) (i32.const 21)))
                (then (unreachable)))))
          (local.set $count (i32.add (local.get $count) (i32.const 1)))
          (global.set $at (local.get $pod_end))
          (br $next))))
    (local.get $count))

  (func (export "reserve") (result i32) (i32.const 0))
  (func (export "unreserve") (drop (call $each (global.get $unreserving))))
  (func (export "postbind") (drop (call $each (global.get $bound))))
  (func (export "permit") (result i64)
    (if (i32.lt_u (i32.add (call $each (i32.const 0)) (i32.const 1)) (global.get $size))
      (then
        (return (i64.or (i64.const 0x400000000) (i64.extend_i32_u (global.get $timeout)))))) ;; Wait
    (drop (call $each (global.get $decision)))
    (select (i64.const 0) (i64.const 0x200000000) (i32.eq (global.get $decision) (i32.const 1)))))
