;; Counts the pods that are taken off (+1) and put on (-1) in each of its cycle states, beginning with 50. Every hook logs
;; its letter, the state it is about and that state's count: "P00=50". Filter rejects where no more than 50 are counted.
;; Traps if it is asked for a state that is not there, or to forget the current one.
(module
  (import "kubewasp/v1" "state" (func $state (result i32)))
  (import "k8s.io/klog" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 1)
  (global $current (mut i32) (i32.const 0))

  ;; From 1024 on a byte a state: its count, 0 where there is none.
  (func $count (param $state i32) (result i32) (i32.load8_u offset=1024 (local.get $state)))
  (func $must_be (param $state i32)
    (if (i32.eqz (call $count (local.get $state))) (then (unreachable))))
  (func $add (param $number i32)
    (i32.store8 offset=1024 (global.get $current)
      (i32.add (call $count (global.get $current)) (local.get $number))))

  (func $put_two (param $at i32) (param $number i32)
    (i32.store8 (local.get $at) (i32.add (i32.const 48) (i32.div_u (local.get $number) (i32.const 10))))
    (i32.store8 offset=1 (local.get $at) (i32.add (i32.const 48) (i32.rem_u (local.get $number) (i32.const 10)))))
  (func $say (param $letter i32) (param $state i32)
    (i32.store8 (i32.const 0) (local.get $letter))
    (call $put_two (i32.const 1) (local.get $state))
    (i32.store8 (i32.const 3) (i32.const 61)) ;; =
    (call $put_two (i32.const 4) (call $count (local.get $state)))
    (call $log (i32.const 0) (i32.const 0) (i32.const 6)))

  (func (export "prefilter") (result i32)
    (memory.fill (i32.const 1024) (i32.const 0) (i32.const 256))
    (global.set $current (i32.const 0))
    (call $add (i32.const 50))
    (call $say (i32.const 80) (i32.const 0)) ;; P
    (i32.const 0))
  (func (export "addpod") (result i32)
    (call $add (i32.const -1))
    (call $say (i32.const 65) (global.get $current)) ;; A
    (i32.const 0))
  (func (export "removepod") (result i32)
    (call $add (i32.const 1))
    (call $say (i32.const 82) (global.get $current)) ;; R
    (i32.const 0))
  (func (export "filter") (result i32)
    (call $say (i32.const 70) (global.get $current)) ;; F
    (select (i32.const 0) (i32.const 2) (i32.gt_u (call $count (global.get $current)) (i32.const 50))))
  (func (export "clonestate")
    (call $must_be (global.get $current))
    (if (call $count (call $state)) (then (unreachable)))
    (i32.store8 offset=1024 (call $state) (call $count (global.get $current)))
    (call $say (i32.const 67) (call $state))) ;; C
  (func (export "selectstate")
    (call $must_be (call $state))
    (global.set $current (call $state))
    (call $say (i32.const 83) (call $state))) ;; S
  (func (export "dropstate")
    (call $must_be (call $state))
    (if (i32.eq (call $state) (global.get $current)) (then (unreachable)))
    (call $say (i32.const 68) (call $state)) ;; D
    (i32.store8 offset=1024 (call $state) (i32.const 0))))
