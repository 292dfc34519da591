;; Keeps state between hooks. Prefilter notes the pod's name and begins a new cycle; every later hook checks that it
;; still serves that pod, and says "HOOK pod=NAME cycle=N call=N" in the log and as its reason. If it serves
;; another pod, the status is Error, else `status_code`. Names of up to 127 bytes, pods of up to 1 MiB.
(module
  (import "k8s.io/scheduler" "currentPod" (func $current_pod (param i32 i32) (result i32)))
  (import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))
  (import "k8s.io/klog" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 17)
  (global $status_code (export "status_code") (mut i32) (i32.const 0))

  ;; What is kept, in memory: at 0 the cycles of this instance, at 4 the calls in this cycle, at 256 the noted name
  ;; behind one byte of length. The text is put together at 1024, the pod is read to 65536.
  (data (i32.const 16) " pod= cycle= call=")
  (data (i32.const 64) "filter")
  (data (i32.const 80) "score")
  (data (i32.const 96) "reserve")
  (data (i32.const 112) "unreserve")
  (data (i32.const 128) "permit")
  (data (i32.const 144) "prebind")
  (data (i32.const 160) "bind")
  (data (i32.const 176) "postbind")
  (global $end (mut i32) (i32.const 0)) ;; of the text

  (func $put (param $text i32) (param $length i32)
    (memory.copy (global.get $end) (local.get $text) (local.get $length))
    (global.set $end (i32.add (global.get $end) (local.get $length))))
  (func $put_number (param $number i32)
    (if (i32.ge_u (local.get $number) (i32.const 10))
      (then (call $put_number (i32.div_u (local.get $number) (i32.const 10)))))
    (i32.store8 (global.get $end) (i32.add (i32.const 48) (i32.rem_u (local.get $number) (i32.const 10))))
    (global.set $end (i32.add (global.get $end) (i32.const 1))))
  (func $increment (param $cell i32)
    (i32.store (local.get $cell) (i32.add (i32.load (local.get $cell)) (i32.const 1))))

  ;; The address of the current pod's name, which is its length in one byte and then the text. A pod begins with tag,
  ;; length, metadata, and metadata with tag, length, name; the first length is a varint of one or more bytes.
  (func $pod_name (result i32)
    (local $at i32)
    (if (i32.gt_u (call $current_pod (i32.const 65536) (i32.const 0x100000)) (i32.const 0x100000))
      (then (unreachable)))
    (local.set $at (i32.const 65536))
    (loop $more
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $more (i32.ge_u (i32.load8_u (local.get $at)) (i32.const 0x80))))
    (i32.add (local.get $at) (i32.const 2)))

  (func $same (param $one i32) (param $other i32) (param $length i32) (result i32)
    (loop $next
      (if (i32.eqz (local.get $length)) (then (return (i32.const 1))))
      (local.set $length (i32.sub (local.get $length) (i32.const 1)))
      (br_if $next (i32.eq
        (i32.load8_u (i32.add (local.get $one) (local.get $length)))
        (i32.load8_u (i32.add (local.get $other) (local.get $length))))))
    (i32.const 0))

  (func $later (param $hook i32) (param $hook_length i32) (result i32)
    (local $length i32)
    (call $increment (i32.const 4))
    (local.set $length (i32.load8_u (i32.const 256)))
    (global.set $end (i32.const 1024))
    (call $put (local.get $hook) (local.get $hook_length))
    (call $put (i32.const 16) (i32.const 5))
    (call $put (i32.const 257) (local.get $length))
    (call $put (i32.const 21) (i32.const 7))
    (call $put_number (i32.load (i32.const 0)))
    (call $put (i32.const 28) (i32.const 6))
    (call $put_number (i32.load (i32.const 4)))
    (call $log (i32.const 0) (i32.const 1024) (i32.sub (global.get $end) (i32.const 1024)))
    (call $reason (i32.const 1024) (i32.sub (global.get $end) (i32.const 1024)))
    (select (global.get $status_code) (i32.const 1)
      (call $same (call $pod_name) (i32.const 256) (i32.add (local.get $length) (i32.const 1)))))

  (func (export "prefilter") (result i32)
    (local $name i32)
    (local.set $name (call $pod_name))
    (memory.copy (i32.const 256) (local.get $name) (i32.add (i32.load8_u (local.get $name)) (i32.const 1)))
    (call $increment (i32.const 0))
    (i32.store (i32.const 4) (i32.const 0))
    (i32.const 0))
  (func (export "filter") (result i32) (call $later (i32.const 64) (i32.const 6)))
  (func (export "score") (result i64) (i64.extend_i32_u (call $later (i32.const 80) (i32.const 5))))
  (func (export "reserve") (result i32) (call $later (i32.const 96) (i32.const 7)))
  (func (export "unreserve") (drop (call $later (i32.const 112) (i32.const 9))))
  (func (export "permit") (result i64)
    (i64.shl (i64.extend_i32_u (call $later (i32.const 128) (i32.const 6))) (i64.const 32)))
  (func (export "prebind") (result i32) (call $later (i32.const 144) (i32.const 7)))
  (func (export "bind") (result i32) (call $later (i32.const 160) (i32.const 4)))
  (func (export "postbind") (drop (call $later (i32.const 176) (i32.const 8)))))
