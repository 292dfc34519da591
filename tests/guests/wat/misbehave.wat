;; Everything a guest must not do. `what` is a place in the table below; `where` (one bit a hook, see README.md)
;; says in which hooks; the first `after` calls of those hooks still behave.
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll_oneoff (param i32 i32 i32 i32) (result i32)))
  (import "k8s.io/scheduler" "targetPod" (func $target_pod (param i32 i32) (result i32)))
  (import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))
  (import "k8s.io/scheduler" "result.node_names" (func $node_names (param i32 i32)))
  (import "k8s.io/scheduler" "result.normalized_score_list" (func $normalized (param i32 i32)))
  (import "k8s.io/scheduler" "result.cluster_events" (func $cluster_events (param i32 i32)))
  (import "k8s.io/scheduler" "handle.eventrecorder.eventf" (func $eventf (param i32 i32)))
  (import "k8s.io/klog" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 1)

  (global $what (export "what") (mut i32) (i32.const 0))
  (global $where (export "where") (mut i32) (i32.const -1))
  (global $after (export "after") (mut i32) (i32.const 0))

  (table 32 funcref)
  (elem (i32.const 0)
    $behave $trap $loop $recurse $memory_bomb $out_of_bounds $huge_reason $invalid_utf8 $exit_3 $exit_0 ;; 0 … 9
    $panic $print_forever $log_forever $events_forever $target_pod_now $invalid_event $sleep)           ;; 10 … 16
  ;; 17 stays empty: calling it is the call of a null table entry
  (elem (i32.const 18)
    $divide_by_zero $unknown_status $reason_of_success $unknown_nodes                                   ;; 18 … 21
    $scores_not_json $scores_unknown $scores_missing $scores_float $scores_null $scores_nan $odd_events) ;; 22 … 28

  (func $behave (result i32) (i32.const 0))
  (func $trap (result i32) unreachable)
  (func $loop (result i32) (loop $forever (br $forever)) (i32.const 0))
  (func $recurse (result i32) (i32.add (call $recurse) (i32.const 1)))

  ;; Takes all the memory it can get, writes to every page of it, and then says Error.
  (func $memory_bomb (result i32)
    (local $page i32)
    (loop $more (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
    (local.set $page (memory.size))
    (loop $touch
      (local.set $page (i32.sub (local.get $page) (i32.const 1)))
      (i32.store8 (i32.or (i32.shl (local.get $page) (i32.const 16)) (i32.const 0xffff)) (i32.const 1))
      (br_if $touch (local.get $page)))
    (i32.const 1))

  (func $out_of_bounds (result i32) (i32.load (i32.const -4)))

  (func $huge_reason (result i32) (call $reason (i32.const 0) (i32.const 0x40000000)) (i32.const 2))
  (data (i32.const 0) "bad \ff\c0\80\ed\a0\80 text") ;; no lead byte, an overlong NUL, a surrogate
  (func $invalid_utf8 (result i32) (call $reason (i32.const 0) (i32.const 15)) (i32.const 2))

  (func $exit_3 (result i32) (call $proc_exit (i32.const 3)) (i32.const 0))
  (func $exit_0 (result i32) (call $proc_exit (i32.const 0)) (i32.const 0))

  (data (i32.const 32) "panic!")
  (data (i32.const 40) "\20\00\00\00\06\00\00\00") ;; iovec: the 6 bytes at 32
  (func $panic (result i32)
    (drop (call $fd_write (i32.const 2) (i32.const 40) (i32.const 1) (i32.const 60)))
    unreachable)

  (data (i32.const 48) "\00\20\00\00\00\10\00\00") ;; iovec: the 4096 bytes at 8192
  (func $print_forever (result i32)
    (loop $forever
      (drop (call $fd_write (i32.const 1) (i32.const 48) (i32.const 1) (i32.const 60)))
      (br $forever))
    (i32.const 0))
  (func $log_forever (result i32)
    (loop $forever (call $log (i32.const 2) (i32.const 32) (i32.const 6)) (br $forever))
    (i32.const 0))

  (data (i32.const 256)
    "{\"RegardingReference\":{\"Kind\":\"Pod\",\"Name\":\"pod-1\",\"Namespace\":\"default\"},"
    "\"Eventtype\":\"Normal\",\"Reason\":\"Again\",\"Action\":\"Spam\",\"Note\":\"and again\"}")
  (func $events_forever (result i32)
    (loop $forever (call $eventf (i32.const 256) (i32.const 147)) (br $forever))
    (i32.const 0))
  (data (i32.const 128) "{\"Reason\": not JSON")
  (func $invalid_event (result i32) (call $eventf (i32.const 128) (i32.const 19)) (i32.const 0))

  ;; Outside addpod and removepod there is no target pod: 0 when the host says so, else Unschedulable.
  (func $target_pod_now (result i32)
    (select (i32.const 2) (i32.const 0) (call $target_pod (i32.const 4096) (i32.const 2048))))

  ;; A WASI subscription, 48 bytes: userdata u64, tag u8 at 8 (0 clock), clock u32 at 16 (1 monotonic), timeout u64
  ;; at 24 in ns, precision u64 at 32, flags u16 at 40 (0 relative).
  (func $sleep (result i32)
    (i32.store (i32.const 528) (i32.const 1))
    (i64.store (i32.const 536) (i64.const 3_600_000_000_000))
    (drop (call $poll_oneoff (i32.const 512) (i32.const 576) (i32.const 1) (i32.const 624)))
    (i32.const 0))

  (func $divide_by_zero (result i32) (i32.div_s (i32.const 1) (i32.const 0)))
  (func $unknown_status (result i32) (i32.const 42))
  (func $reason_of_success (result i32) (call $reason (i32.const 32) (i32.const 6)) (i32.const 0))

  (data (i32.const 64) "node-1\00nowhere\00node-2") ;; the last name lacks its NUL
  (func $unknown_nodes (result i32) (call $node_names (i32.const 64) (i32.const 21)) (i32.const 0))

  (func $scores (param $text i32) (param $length i32) (result i32)
    (call $normalized (local.get $text) (local.get $length))
    (i32.const 0))
  (data (i32.const 640) "{\"node-1\":")
  (func $scores_not_json (result i32) (call $scores (i32.const 640) (i32.const 10)))
  (data (i32.const 672) "{\"node-1\":1,\"node-2\":2,\"node-3\":3,\"nowhere\":4}")
  (func $scores_unknown (result i32) (call $scores (i32.const 672) (i32.const 46)))
  (data (i32.const 736) "{\"node-1\":1}")
  (func $scores_missing (result i32) (call $scores (i32.const 736) (i32.const 12)))
  (data (i32.const 768) "{\"node-1\":1.5}")
  (func $scores_float (result i32) (call $scores (i32.const 768) (i32.const 14)))
  (data (i32.const 784) "null")
  (func $scores_null (result i32) (call $scores (i32.const 784) (i32.const 4)))
  (data (i32.const 800) "{\"node-1\":NaN}")
  (func $scores_nan (result i32) (call $scores (i32.const 800) (i32.const 14)))

  (data (i32.const 832) "\01\00\00\00\01\00\00") ;; an event has 8 bytes
  (func $odd_events (result i32) (call $cluster_events (i32.const 832) (i32.const 7)) (i32.const 0))

  (func $maybe (param $hook i32) (result i32)
    (if (i32.eqz (i32.and (global.get $where) (local.get $hook))) (then (return (i32.const 0))))
    (if (global.get $after)
      (then
        (global.set $after (i32.sub (global.get $after) (i32.const 1)))
        (return (i32.const 0))))
    (call_indirect (result i32) (global.get $what)))

  (func (export "enqueue") (drop (call $maybe (i32.const 0x0001))))
  (func (export "prefilter") (result i32) (call $maybe (i32.const 0x0002)))
  (func (export "addpod") (result i32) (call $maybe (i32.const 0x0004)))
  (func (export "removepod") (result i32) (call $maybe (i32.const 0x0008)))
  (func (export "filter") (result i32) (call $maybe (i32.const 0x0010)))
  (func (export "postfilter") (result i64) (i64.extend_i32_u (call $maybe (i32.const 0x0020))))
  (func (export "prescore") (result i32) (call $maybe (i32.const 0x0040)))
  (func (export "score") (result i64) (i64.extend_i32_u (call $maybe (i32.const 0x0080))))
  (func (export "normalizescore") (result i32) (call $maybe (i32.const 0x0100)))
  (func (export "reserve") (result i32) (call $maybe (i32.const 0x0200)))
  (func (export "unreserve") (drop (call $maybe (i32.const 0x0400))))
  (func (export "permit") (result i64)
    (i64.shl (i64.extend_i32_u (call $maybe (i32.const 0x0800))) (i64.const 32)))
  (func (export "prebind") (result i32) (call $maybe (i32.const 0x1000)))
  (func (export "bind") (result i32) (call $maybe (i32.const 0x2000)))
  (func (export "postbind") (drop (call $maybe (i32.const 0x4000)))))
