;; PreFilterExtensions: the pod that is removed comes through targetPod, the node through currentNodeName.
;; Answers 2 with the node's name as the reason, or 1 when one of the two is missing.
(module
  (import "k8s.io/scheduler" "targetPod" (func $target_pod (param i32 i32) (result i32)))
  (import "k8s.io/scheduler" "currentNodeName" (func $node_name (param i32 i32) (result i32)))
  (import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))
  (memory (export "memory") 1)
  (func (export "prefilter") (result i32) (i32.const 0))
  (func (export "removepod") (result i32)
    (local $length i32)
    (local.set $length (call $node_name (i32.const 0) (i32.const 1024)))
    (call $reason (i32.const 0) (local.get $length))
    ;; a limit of 0 asks for the length only
    (if (result i32) (i32.and (i32.ne (local.get $length) (i32.const 0))
                              (i32.ne (call $target_pod (i32.const 0) (i32.const 0)) (i32.const 0)))
      (then (i32.const 2))
      (else (i32.const 1))))
  (func (export "filter") (result i32) (i32.const 0)))
