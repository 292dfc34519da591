  ;; ---- nodes ------------------------------------------------------------------------------------------------------
  ;; Whether a node has the label of the policy is looked up once, and again when the node has changed: the answer is kept
  ;; by row, with the generation of the Node object.
  (import "kubewasp/v1" "current_node" (func $current_node (result i32)))
  (import "kubewasp/v1" "node_info" (func $node_info (param i32 i32 i32) (result i32)))
  (import "kubewasp/v1" "node_object" (func $node_object (param i32 i32 i32) (result i32)))

  ;; 0 texts of the policy, 1024 numbers of the current node, 4096 its object, 262144 cached results: 16 bytes per row
  (memory (export "memory") 5)

  ;; The numbers are there after $look: generation of the object, of the node, non-zero CPU and memory, then two each.
  (func $allocatable_cpu (result i64) (i64.load (i32.const 1056)))
  (func $requested_cpu (result i64) (i64.load (i32.const 1064)))

  ;; Reads the current node; 1 if it has the label.
  (func $look (result i32)
    (local $row i32) (local $kept i32) (local $length i32)
    (local.set $row (call $current_node))
    (drop (call $node_info (local.get $row) (i32.const 1024) (i32.const 48)))
    (local.set $kept (i32.add (i32.const 262144) (i32.shl (local.get $row) (i32.const 4))))
    (if (i32.gt_u (i32.add (local.get $kept) (i32.const 16)) (i32.shl (memory.size) (i32.const 16)))
      (then
        (if (i32.eq (memory.grow (i32.const 4)) (i32.const -1)) (then (unreachable)))))
    (if (i64.ne (i64.load (local.get $kept)) (i64.load (i32.const 1024)))
      (then
        (local.set $length (call $node_object (local.get $row) (i32.const 4096) (i32.const 258048)))
        (if (i32.gt_u (local.get $length) (i32.const 258048)) (then (unreachable))) ;; 100 times what nodes have
        (i32.store offset=8 (local.get $kept)
          (call $has_label (i32.const 4096) (i32.add (i32.const 4096) (local.get $length))))
        (i64.store (local.get $kept) (i64.load (i32.const 1024)))))
    (i32.load offset=8 (local.get $kept)))

  ;; Node.metadata is field 1, ObjectMeta.labels is field 11: messages of a key (1) and a value (2).
  (func $has_label (param $at i32) (param $end i32) (result i32)
    (local $next i32)
    (local.set $at (call $field (local.get $at) (local.get $end) (i32.const 0x0a)))
    (if (i32.eqz (local.get $at)) (then (return (i32.const 0))))
    (local.set $end (global.get $field_end))
    (loop $labels
      (local.set $at (call $field (local.get $at) (local.get $end) (i32.const 0x5a)))
      (if (i32.eqz (local.get $at)) (then (return (i32.const 0))))
      (local.set $next (global.get $field_end))
      (if (call $is_text (call $field (local.get $at) (local.get $next) (i32.const 0x0a))
            (global.get $label) (global.get $label_length))
        (then
          (return (call $is_text (call $field (local.get $at) (local.get $next) (i32.const 0x12))
            (global.get $value) (global.get $value_length)))))
      (local.set $at (local.get $next))
      (br $labels))
    (unreachable))

  ;; Whether the field that was found last, at that address, is a certain text.
  (func $is_text (param $at i32) (param $text i32) (param $length i32) (result i32)
    (local $end i32)
    (if (i32.eqz (local.get $at)) (then (return (i32.const 0))))
    (if (i32.ne (i32.sub (global.get $field_end) (local.get $at)) (local.get $length)) (then (return (i32.const 0))))
    (local.set $end (i32.add (local.get $at) (local.get $length)))
    (loop $next
      (if (i32.eq (local.get $at) (local.get $end)) (then (return (i32.const 1))))
      (if (i32.ne (i32.load8_u (local.get $at)) (i32.load8_u (local.get $text))) (then (return (i32.const 0))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (local.set $text (i32.add (local.get $text) (i32.const 1)))
      (br $next))
    (unreachable))
