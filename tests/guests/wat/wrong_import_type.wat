;; Load error: currentPod is (i32, i32) -> i32.
(module
  (import "k8s.io/scheduler" "currentPod" (func (param i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "filter") (result i32) (i32.const 0)))
