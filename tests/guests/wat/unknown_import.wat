;; Load error: nobody provides the module "env".
(module
  (import "env" "foo" (func))
  (memory (export "memory") 1)
  (func (export "filter") (result i32) (i32.const 0)))
