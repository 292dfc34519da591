;; A component that exports wasi:cli/run: a line on stdout for each directory that it was granted, with what came of
;; opening `file` there for reading and for writing: `NAME r0 w0` has neither, `NAME r1 w1` both. It fails without any.
(component
  (import "wasi:io/error@0.2.0" (instance $error (export "error" (type (sub resource)))))
  (alias export $error "error" (type $error_t))
  (import "wasi:io/streams@0.2.0" (instance $streams
    (alias outer 1 $error_t (type $e))
    (export "error" (type $e2 (eq $e)))
    (export "output-stream" (type $out (sub resource)))
    (type $err (variant (case "last-operation-failed" (own $e2)) (case "closed")))
    (export "stream-error" (type $se (eq $err)))
    (export "[method]output-stream.blocking-write-and-flush"
      (func (param "self" (borrow $out)) (param "contents" (list u8)) (result (result (error $se)))))))
  (alias export $streams "output-stream" (type $out_t))
  (import "wasi:cli/stdout@0.2.0" (instance $stdout
    (alias outer 1 $out_t (type $o))
    (export "output-stream" (type $o2 (eq $o)))
    (export "get-stdout" (func (result (own $o2))))))
  (import "wasi:filesystem/types@0.2.0" (instance $types
    (export "descriptor" (type $d (sub resource)))
    (type $pf (flags "symlink-follow"))
    (export "path-flags" (type $path_flags (eq $pf)))
    (type $of (flags "create" "directory" "exclusive" "truncate"))
    (export "open-flags" (type $open_flags (eq $of)))
    (type $df (flags "read" "write" "file-integrity-sync" "data-integrity-sync" "requested-write-sync" "mutate-directory"))
    (export "descriptor-flags" (type $descriptor_flags (eq $df)))
    (type $ec (enum "access" "would-block" "already" "bad-descriptor" "busy" "deadlock" "quota" "exist"
      "file-too-large" "illegal-byte-sequence" "in-progress" "interrupted" "invalid" "io" "is-directory" "loop"
      "too-many-links" "message-size" "name-too-long" "no-device" "no-entry" "no-lock" "insufficient-memory"
      "insufficient-space" "not-directory" "not-empty" "not-recoverable" "unsupported" "no-tty" "no-such-device"
      "overflow" "not-permitted" "pipe" "read-only" "invalid-seek" "text-file-busy" "cross-device"))
    (export "error-code" (type $error_code (eq $ec)))
    (export "[method]descriptor.open-at"
      (func (param "self" (borrow $d)) (param "path-flags" $path_flags) (param "path" string)
        (param "open-flags" $open_flags) (param "flags" $descriptor_flags) (result (result (own $d) (error $error_code)))))))
  (alias export $types "descriptor" (type $descriptor_t))
  (import "wasi:filesystem/preopens@0.2.0" (instance $preopens
    (alias outer 1 $descriptor_t (type $d))
    (export "descriptor" (type $d2 (eq $d)))
    (export "get-directories" (func (result (list (tuple (own $d2) string)))))))
  (core module $libc
    (memory (export "memory") 1)
    (global $free (mut i32) (i32.const 4096))
    (func (export "realloc") (param i32 i32 i32) (param $size i32) (result i32)
      (local $at i32)
      (local.set $at (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
      (global.set $free (i32.add (local.get $at) (local.get $size)))
      (local.get $at)))
  (core instance $libc (instantiate $libc))
  (core func $get_stdout (canon lower (func $stdout "get-stdout")))
  (core func $write (canon lower (func $streams "[method]output-stream.blocking-write-and-flush")
    (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
  (core func $directories (canon lower (func $preopens "get-directories")
    (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
  (core func $open (canon lower (func $types "[method]descriptor.open-at")
    (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
  (core module $main
    (import "libc" "memory" (memory 1))
    (import "host" "get-stdout" (func $get_stdout (result i32)))
    (import "host" "write" (func $write (param i32 i32 i32 i32)))
    (import "host" "directories" (func $directories (param i32)))
    (import "host" "open" (func $open (param i32 i32 i32 i32 i32 i32 i32)))
    (global $stream (mut i32) (i32.const 0))
    (data (i32.const 0) "file")
    (data (i32.const 16) " r0 w0\0a")
    (func $print (param i32 i32) (call $write (global.get $stream) (local.get 0) (local.get 1) (i32.const 200)))
    ;; 1 if the file can be opened so
    (func $try (param $directory i32) (param $flags i32) (result i32)
      (call $open (local.get $directory) (i32.const 0) (i32.const 0) (i32.const 4) (i32.const 0) (local.get $flags)
        (i32.const 300))
      (i32.eqz (i32.load8_u (i32.const 300))))
    (func (export "run") (result i32)
      (local $entry i32) (local $left i32)
      (global.set $stream (call $get_stdout))
      (call $directories (i32.const 100))
      (local.set $entry (i32.load (i32.const 100)))
      (local.set $left (i32.load (i32.const 104)))
      (if (i32.eqz (local.get $left)) (then (return (i32.const 1))))
      (loop $each
        (call $print (i32.load offset=4 (local.get $entry)) (i32.load offset=8 (local.get $entry)))
        (i32.store8 (i32.const 18) (i32.add (i32.const 48) (call $try (i32.load (local.get $entry)) (i32.const 1))))
        (i32.store8 (i32.const 21) (i32.add (i32.const 48) (call $try (i32.load (local.get $entry)) (i32.const 2))))
        (call $print (i32.const 16) (i32.const 7))
        (local.set $entry (i32.add (local.get $entry) (i32.const 12)))
        (br_if $each (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
      (i32.const 0)))
  (core instance $main (instantiate $main
    (with "libc" (instance $libc))
    (with "host" (instance
      (export "get-stdout" (func $get_stdout))
      (export "write" (func $write))
      (export "directories" (func $directories))
      (export "open" (func $open))))))
  (func $run (result (result)) (canon lift (core func $main "run")))
  (instance $run_interface (export "run" (func $run)))
  (export "wasi:cli/run@0.2.0" (instance $run_interface)))
