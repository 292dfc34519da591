;; Misbehaves in one hook of a pod, by the last two letters of the pod's name: the hook, and the behaviour.
;;
;;   hook       a filter, b prefilter, c score, d reserve, e permit, f prebind
;;   behaviour  a … p, in the order of the table below
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll_oneoff (param i32 i32 i32 i32) (result i32)))
  (import "k8s.io/scheduler" "currentPod" (func $current_pod (param i32 i32) (result i32)))
  (import "k8s.io/scheduler" "currentNodeName" (func $current_node_name (param i32 i32) (result i32)))
  (import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))
  (import "k8s.io/scheduler" "handle.eventrecorder.eventf" (func $eventf (param i32 i32)))
  (import "k8s.io/klog" "log" (func $log (param i32 i32 i32)))

  ;; 0 texts and WASI records, 1024 the event under construction, 8192 the pod.
  (memory (export "memory") 2)
  (global $pod i32 (i32.const 8192))
  (global $room i32 (i32.const 65536))

  ;; Letters of the pod at hand.
  (global $hook (mut i32) (i32.const 0))
  (global $what (mut i32) (i32.const 0))
  (global $lines (mut i32) (i32.const 0))

  (table funcref (elem
    $behave $trap $loop $recurse           ;; a … d
    $leak $memory_bomb $exit $sleep        ;; e … h
    $log_forever $log_lines $print_forever ;; i … k
    $events $invalid_event $huge_reason    ;; l … n
    $out_of_bounds $divide_by_zero))       ;; o, p

  (func $behave)
  (func $trap unreachable)
  (func $loop (loop $forever (br $forever)))
  (func $recurse (call $recurse) (global.set $lines (i32.const 0)))
  (func $exit (call $proc_exit (i32.const 3)))
  (func $out_of_bounds (drop (i32.load (i32.const -4))))
  (func $divide_by_zero (drop (i32.div_s (i32.const 1) (i32.const 0))))

  ;; One page more, written to and never given back. The instance lives on, for the next pods.
  (func $leak
    (local $page i32)
    (local.set $page (memory.grow (i32.const 1)))
    (if (i32.ne (local.get $page) (i32.const -1))
      (then (i32.store8 (i32.shl (local.get $page) (i32.const 16)) (i32.const 1)))))

  ;; All memory there is, every page written to; then a trap.
  (func $memory_bomb
    (local $page i32)
    (loop $more
      (local.set $page (memory.grow (i32.const 1)))
      (if (i32.ne (local.get $page) (i32.const -1))
        (then
          (i32.store8 (i32.shl (local.get $page) (i32.const 16)) (i32.const 1))
          (br $more))))
    unreachable)

  ;; An hour, as a WASI subscription of 48 bytes: tag u8 at 8 (0 clock), clock u32 at 16 (1 monotonic), timeout u64 in
  ;; ns at 24.
  (func $sleep
    (i32.store (i32.const 528) (i32.const 1))
    (i64.store (i32.const 536) (i64.const 3_600_000_000_000))
    (drop (call $poll_oneoff (i32.const 512) (i32.const 576) (i32.const 1) (i32.const 624))))

  (data (i32.const 0) "the same line again and again")
  (func $log_forever (loop $forever (call $log (i32.const 0) (i32.const 0) (i32.const 29)) (br $forever)))

  ;; 50 lines, each another one.
  (data (i32.const 64) "line 00000000 of a flood")
  (func $log_lines
    (local $count i32) (local $digit i32) (local $rest i32)
    (loop $next
      (global.set $lines (i32.add (global.get $lines) (i32.const 1)))
      (local.set $rest (global.get $lines))
      (local.set $digit (i32.const 76))
      (loop $digits
        (i32.store8 (local.get $digit) (i32.add (i32.const 48) (i32.rem_u (local.get $rest) (i32.const 10))))
        (local.set $rest (i32.div_u (local.get $rest) (i32.const 10)))
        (local.set $digit (i32.sub (local.get $digit) (i32.const 1)))
        (br_if $digits (i32.gt_u (local.get $digit) (i32.const 68))))
      (call $log (i32.const 1) (i32.const 64) (i32.const 24))
      (local.set $count (i32.add (local.get $count) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $count) (i32.const 50)))))

  (data (i32.const 128) "\00\20\00\00\00\10\00\00") ;; iovec: the 4096 bytes at 8192
  (func $print_forever
    (loop $forever
      (drop (call $fd_write (i32.const 1) (i32.const 128) (i32.const 1) (i32.const 136)))
      (br $forever)))

  ;; 20 events about the node at hand.
  (data (i32.const 192) "{\"RegardingReference\":{\"Kind\":\"Node\",\"APIVersion\":\"v1\",\"Name\":\"")
  (data (i32.const 320) "\"},\"Eventtype\":\"Normal\",\"Reason\":\"Flood\",\"Action\":\"Soak\",\"Note\":\"again\"}")
  (func $events
    (local $end i32) (local $count i32)
    (memory.copy (i32.const 1024) (i32.const 192) (i32.const 63))
    (local.set $end (i32.add (i32.const 1087) (call $current_node_name (i32.const 1087) (i32.const 256))))
    (memory.copy (local.get $end) (i32.const 320) (i32.const 72))
    (loop $next
      (call $eventf (i32.const 1024) (i32.sub (local.get $end) (i32.const 952)))
      (local.set $count (i32.add (local.get $count) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $count) (i32.const 20)))))

  (data (i32.const 448) "{\"Reason\": not JSON")
  (func $invalid_event (call $eventf (i32.const 448) (i32.const 19)))
  (func $huge_reason (call $reason (i32.const 0) (i32.const 0x40000000)))

  (func $maybe (param $hook i32) (result i32)
    (if (i32.eq (local.get $hook) (global.get $hook)) (then (call_indirect (global.get $what))))
    (i32.const 0))

  ;; Pod.metadata is field 1 of the message, ObjectMeta.name field 1 of ObjectMeta and shorter than 128 bytes.
  (func $read_pod
    (local $at i32)
    (drop (call $current_pod (global.get $pod) (global.get $room)))
    (local.set $at (global.get $pod))
    (loop $varint
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $varint (i32.ge_u (i32.load8_u (local.get $at)) (i32.const 128))))
    (local.set $at (i32.add (local.get $at) (i32.const 2))) ;; length of the name
    (local.set $at (i32.add (local.get $at) (i32.load8_u (local.get $at))))
    (global.set $hook (i32.sub (i32.load8_u (i32.sub (local.get $at) (i32.const 1))) (i32.const 97)))
    (global.set $what (i32.sub (i32.load8_u (local.get $at)) (i32.const 97))))

  (func (export "prefilter") (result i32) (call $read_pod) (call $maybe (i32.const 1)))
  (func (export "filter") (result i32) (call $maybe (i32.const 0)))
  (func (export "score") (result i64) (i64.extend_i32_u (call $maybe (i32.const 2))))
  (func (export "reserve") (result i32) (call $maybe (i32.const 3)))
  (func (export "permit") (result i64) (i64.extend_i32_u (call $maybe (i32.const 4))))
  (func (export "prebind") (result i32) (call $maybe (i32.const 5))))
