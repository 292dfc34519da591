;; Asks a getter and gives its value back: status 2, the value as the reason. `which` selects the getter by its
;; place in the table below, `limit` is the size of the first buffer; a longer value is asked for again.
(module
  (type $getter (func (param $buffer i32) (param $limit i32) (result i32)))
  (import "k8s.io/scheduler" "currentPod" (func $currentPod (type $getter)))
  (import "k8s.io/scheduler" "currentNodeName" (func $currentNodeName (type $getter)))
  (import "k8s.io/api" "node" (func $node (param i32 i32 i32 i32) (result i32)))
  (import "k8s.io/api" "nodeList" (func $nodeList (type $getter)))
  (import "k8s.io/scheduler" "get_config" (func $get_config (type $getter)))
  (import "k8s.io/scheduler" "targetPod" (func $targetPod (type $getter)))
  (import "k8s.io/scheduler" "filteredNodeList" (func $filteredNodeList (type $getter)))
  (import "k8s.io/scheduler" "nodeToStatusMap" (func $nodeToStatusMap (type $getter)))
  (import "k8s.io/scheduler" "nodeScoreList" (func $nodeScoreList (type $getter)))
  (import "k8s.io/scheduler" "nodeImageStates" (func $nodeImageStates (param i32 i32 i32 i32) (result i32)))
  (import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))
  (memory (export "memory") 1)
  (global $which (export "which") (mut i32) (i32.const 0))
  (global $limit (export "limit") (mut i32) (i32.const 2048))
  (global $first_len (export "first_len") (mut i32) (i32.const 0)) ;; what the first call answered

  ;; 0 … 9, the numbers of `which`
  (table funcref (elem $currentPod $currentNodeName $current_node $nodeList $get_config
                       $targetPod $filteredNodeList $nodeToStatusMap $nodeScoreList $current_image_states))

  ;; The two getters that want a name get the current node's, read to address 0.
  (func $current_node (param $buffer i32) (param $limit i32) (result i32)
    (call $node (i32.const 0) (call $currentNodeName (i32.const 0) (i32.const 1024))
      (local.get $buffer) (local.get $limit)))
  (func $current_image_states (param $buffer i32) (param $limit i32) (result i32)
    (call $nodeImageStates (i32.const 0) (call $currentNodeName (i32.const 0) (i32.const 1024))
      (local.get $buffer) (local.get $limit)))

  (func $echo (result i32)
    (local $room i32)
    (global.set $first_len
      (call_indirect (type $getter) (i32.const 1024) (global.get $limit) (global.get $which)))
    (if (i32.gt_u (global.get $first_len) (global.get $limit))
      (then
        (local.set $room (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const 1024)))
        (if (i32.gt_u (global.get $first_len) (local.get $room))
          (then (drop (memory.grow (i32.add (i32.const 1)
            (i32.shr_u (i32.sub (global.get $first_len) (local.get $room)) (i32.const 16)))))))
        (drop (call_indirect (type $getter) (i32.const 1024) (global.get $first_len) (global.get $which)))))
    (call $reason (i32.const 1024) (global.get $first_len))
    (i32.const 2))
  (func $echo_low (result i64) (i64.extend_i32_u (call $echo))) ;; the status is the low half

  (export "prefilter" (func $echo))
  (export "addpod" (func $echo))
  (export "removepod" (func $echo))
  (export "filter" (func $echo))
  (export "postfilter" (func $echo_low))
  (export "prescore" (func $echo))
  (export "score" (func $echo_low))
  (export "normalizescore" (func $echo))
  (export "reserve" (func $echo))
  (export "prebind" (func $echo))
  (export "bind" (func $echo)))
