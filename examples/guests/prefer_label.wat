;; prefer_label: prefers nodes with a label. The configuration is the label, e.g. `capacity=spot`.
;;
;; A label is one entry of the map `metadata.labels` (field 11 of field 1) of the Node's protobuf: 0x0a, the length of the
;; key, the key, 0x12, the length of the value, the value. The wanted entry is encoded once, when the guest starts;
;; then the fields of each node's metadata are compared with it.
(module
  (import "k8s.io/scheduler" "get_config" (func $get_config (param i32 i32) (result i32)))
  (import "k8s.io/scheduler" "currentNodeName" (func $node_name (param i32 i32) (result i32)))
  (import "k8s.io/api" "node" (func $node (param i32 i32 i32 i32) (result i32)))
  (import "kubewasp/v1" "pod_signature" (func $pod_signature (param $low i32) (param $high i32)))
  (memory (export "memory") 2)
  ;; 0 configuration, 512 the sequence, 1024 the node's name, 2048 the node
  (global $needle_len (mut i32) (i32.const 0))

  (func (export "_initialize")
    (local $len i32) (local $key_len i32) (local $value_len i32)
    ;; All pods share their results. A signature that is set here, and not in prefilter, applies to all pods: only changed
    ;; nodes are evaluated again.
    (call $pod_signature (i32.const 1) (i32.const 0))
    (local.set $len (call $get_config (i32.const 0) (i32.const 256)))
    ;; the key ends at the first `=`
    (block $found
      (loop $next
        (if (i32.ge_u (local.get $key_len) (local.get $len)) (then (return))) ;; no label: every node scores 0
        (br_if $found (i32.eq (i32.load8_u (local.get $key_len)) (i32.const 61)))
        (local.set $key_len (i32.add (local.get $key_len) (i32.const 1)))
        (br $next)))
    (local.set $value_len (i32.sub (i32.sub (local.get $len) (local.get $key_len)) (i32.const 1)))
    (i32.store8 (i32.const 512) (i32.const 0x0a))
    (i32.store8 (i32.const 513) (local.get $key_len))
    (memory.copy (i32.const 514) (i32.const 0) (local.get $key_len))
    (i32.store8 (i32.add (i32.const 514) (local.get $key_len)) (i32.const 0x12))
    (i32.store8 (i32.add (i32.const 515) (local.get $key_len)) (local.get $value_len))
    (memory.copy
      (i32.add (i32.const 516) (local.get $key_len))
      (i32.add (local.get $key_len) (i32.const 1))
      (local.get $value_len))
    (global.set $needle_len (i32.add (i32.const 4) (i32.add (local.get $key_len) (local.get $value_len)))))

  ;; 1 if the sequence is at this address.
  (func $stands_at (param $at i32) (result i32)
    (local $i i32)
    (loop $next
      (if (i32.eq (local.get $i) (global.get $needle_len)) (then (return (i32.const 1))))
      (if (i32.ne
            (i32.load8_u (i32.add (local.get $at) (local.get $i)))
            (i32.load8_u (i32.add (i32.const 512) (local.get $i))))
        (then (return (i32.const 0))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br $next))
    (unreachable))

  ;; Reads the current node to 2048; returns its length.
  (func $read_node (result i32)
    (local $name_len i32) (local $len i32) (local $room i32)
    (local.set $name_len (call $node_name (i32.const 1024) (i32.const 1024)))
    (local.set $room (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const 2048)))
    (local.set $len (call $node (i32.const 1024) (local.get $name_len) (i32.const 2048) (local.get $room)))
    (if (i32.gt_u (local.get $len) (local.get $room))
      (then
        (drop (memory.grow (i32.add (i32.shr_u (local.get $len) (i32.const 16)) (i32.const 1))))
        (local.set $len (call $node (i32.const 1024) (local.get $name_len) (i32.const 2048) (local.get $len)))))
    (local.get $len))

  ;; Reads a varint at $at: seven bits per byte, the highest bit is set if another byte follows. Advances $at.
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
      (br_if $next (i32.and (local.get $byte) (i32.const 128))))
    (local.get $value))

  ;; 100 for a node with the label, else 0; the score is in the high half, Success (0) in the low one.
  (func (export "score") (result i64)
    (local $end i32) (local $tag i32) (local $len i32)
    (if (i32.or (i32.eqz (global.get $needle_len)) (i32.eqz (call $read_node))) (then (return (i64.const 0))))
    (global.set $at (i32.const 2049)) ;; after the tag of `metadata`, the first field
    (local.set $end (call $varint))
    (local.set $end (i32.add (local.get $end) (global.get $at)))
    (loop $next
      (if (i32.lt_u (global.get $at) (local.get $end))
        (then
          (local.set $tag (call $varint))
          (local.set $len (call $varint)) ;; of a number, this is the number itself
          (if (i32.eq (i32.and (local.get $tag) (i32.const 7)) (i32.const 2))
            (then
              (if (i32.and
                    (i32.eq (local.get $tag) (i32.const 0x5a))
                    (i32.eq (local.get $len) (global.get $needle_len)))
                (then
                  (if (call $stands_at (global.get $at))
                    (then (return (i64.shl (i64.const 100) (i64.const 32)))))))
              (global.set $at (i32.add (global.get $at) (local.get $len)))))
          (br $next))))
    (i64.const 0)))
