;; Load error: a module of the contract, but no function of it.
(module
  (import "k8s.io/api" "pods" (func (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "filter") (result i32) (i32.const 0)))
