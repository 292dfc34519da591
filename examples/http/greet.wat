;; Handler of style module: greets the name in the query, and counts the bytes of the body.
;; It has all three cases of memory ownership of docs/http.md.
(module
  (import "kubewasp_http" "request_query" (func $query (result i64)))
  (import "kubewasp_http" "request_read" (func $read (param i32 i32) (result i32)))
  (import "kubewasp_http" "response_header" (func $header (param i32 i32 i32 i32)))
  (import "kubewasp_http" "response_write" (func $write (param i32 i32)))

  (memory (export "memory") 2)
  (data (i32.const 0) "content-typetext/plain")
  (data (i32.const 32) "hello, \n bytes read\n")
  (global $next (mut i32) (i32.const 4096))

  ;; Bump allocator without free: the instance ends with the request.
  (func $malloc (export "malloc") (param $size i32) (result i32)
    (global.get $next)
    (global.set $next (i32.add (global.get $next) (local.get $size))))
  (func $free (export "free") (param i32))

  (func (export "run") (result i64)
    (local $text i64) (local $count i32) (local $total i32)
    ;; Case 1: strings of the guest, which keeps ownership.
    (call $header (i32.const 0) (i32.const 12) (i32.const 12) (i32.const 10))
    (call $write (i32.const 32) (i32.const 7))
    ;; Case 2: string of the host in memory of the guest's malloc; the guest takes ownership.
    (local.set $text (call $query))
    (call $write (i32.wrap_i64 (i64.shr_u (local.get $text) (i64.const 32))) (i32.wrap_i64 (local.get $text)))
    (call $free (i32.wrap_i64 (i64.shr_u (local.get $text) (i64.const 32))))
    (call $write (i32.const 39) (i32.const 1))
    ;; Body, in chunks, into a buffer of the guest.
    (loop $again
      (local.set $count (call $read (i32.const 65536) (i32.const 65536)))
      (local.set $total (i32.add (local.get $total) (local.get $count)))
      (br_if $again (local.get $count)))
    (call $write_number (local.get $total))
    ;; Case 3: the result of `run` is the end of the body; the host copies it and calls `free`.
    (i64.const 0x280000000c)) ;; 12 bytes at 40

  (func $write_number (param $number i32)
    (local $digits i32)
    (local.set $digits (i32.const 1024))
    (loop $again
      (local.set $digits (i32.sub (local.get $digits) (i32.const 1)))
      (i32.store8 (local.get $digits) (i32.add (i32.const 48) (i32.rem_u (local.get $number) (i32.const 10))))
      (local.set $number (i32.div_u (local.get $number) (i32.const 10)))
      (br_if $again (local.get $number)))
    (call $write (local.get $digits) (i32.sub (i32.const 1024) (local.get $digits)))))
