;; The benchmark guest: 10 points where the pod's and the node's name end in the same character.
;; It reads both for every node, as a plugin without any cleverness does; a pod may have up to 1 MiB.
(module
  (import "k8s.io/scheduler" "currentPod" (func $current_pod (param i32 i32) (result i32)))
  (import "k8s.io/scheduler" "currentNodeName" (func $node_name (param i32 i32) (result i32)))
  (memory (export "memory") 17)

  ;; Behind a varint: its last byte is the first one below 0x80.
  (func $skip_varint (param $at i32) (result i32)
    (loop $more
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $more (i32.ge_u (i32.load8_u (i32.sub (local.get $at) (i32.const 1))) (i32.const 0x80))))
    (local.get $at))

  ;; Pod is: tag, length, metadata; metadata begins: tag, length, name. A name has at most 253 bytes, so its
  ;; length takes one or two bytes.
  (func $pod_end (result i32)
    (local $at i32) (local $length i32)
    (if (i32.gt_u (call $current_pod (i32.const 1024) (i32.const 0x100000)) (i32.const 0x100000))
      (then (unreachable)))
    (local.set $at (i32.add (call $skip_varint (i32.const 1025)) (i32.const 1)))
    (local.set $length (i32.load8_u (local.get $at)))
    (if (i32.ge_u (local.get $length) (i32.const 0x80))
      (then (local.set $length (i32.add (i32.and (local.get $length) (i32.const 0x7f))
        (i32.shl (i32.load8_u offset=1 (local.get $at)) (i32.const 7))))))
    (i32.add (call $skip_varint (local.get $at)) (local.get $length)))

  (func $node_end (result i32) (call $node_name (i32.const 1) (i32.const 1023)))

  (func (export "prefilter") (result i32) (i32.const 0))
  (func (export "score") (result i64)
    (if (result i64) (i32.eq (i32.load8_u (i32.sub (call $pod_end) (i32.const 1))) (i32.load8_u (call $node_end)))
      (then (i64.shl (i64.const 10) (i64.const 32)))
      (else (i64.const 0)))))
