;; The adapter: the host's side of the classic ABI, inside the sandbox.  HOT PATH, guarded by tools/bench/bars/host.py.
;;
;; A guest's imports are bound to the functions below, so that what happens once a node (read the pod, read the node,
;; set a reason, log) never leaves wasm. Python makes one call for many nodes ($run) and reads one array back.
;; `adapter.py` appends the element segment that puts these functions into the shim's table.
;;
;; Three memories:
;;   $guest   the plugin's own
;;   $shared  names and objects of all nodes, written only when a node changes, and the pods at hand; every instance of
;;            every plugin reads the same one
;;   $own     this instance's results, journal and captured output; laid out by instance.py
(module $kubewasp_adapter
  (type $status (func (result i32)))
  (type $packed (func (result i64)))
  (type $nothing (func))

  (import "guest" "memory" (memory $guest 0))
  (import "host" "shared" (memory $shared 1 65536 shared))
  (import "shim" "table" (table $shim 1 funcref))
  ;; Python callbacks, for what is rare or unbounded. Each returns 0, or anything else to make the call trap:
  ;; the reason is then known to Python.
  (import "host" "fill" (func $host_fill (param $slot i32) (result i32)))
  (import "host" "drain" (func $host_drain (result i32)))
  (import "host" "receive" (func $host_receive (param $kind i32) (param $buf i32) (param $len i32) (result i32)))
  (import "host" "waiting_pod"
    (func $host_waiting_pod (param $reject i32) (param $uid i32) (param $uid_len i32) (param $buf i32) (param $limit i32)
      (result i32)))
  ;; -1 makes the call trap; anything else is the answer
  (import "host" "decide_waiting_pod"
    (func $host_decide_waiting_pod
      (param $reject i32) (param $uid i32) (param $uid_len i32) (param $reason i32) (param $reason_len i32) (result i32)))
  (import "host" "resource" (func $host_resource (param $name i32) (param $name_len i32) (result i32)))
  (import "host" "fill_pods" (func $host_fill_pods (param $row i32) (result i32)))
  (import "host" "poll" (func $host_poll (param $in i32) (param $out i32) (param $n i32) (param $events i32) (result i32)))

  (memory $own (export "memory") 1)
  (table $hooks (export "hooks") 22 funcref)

  ;; The first page of $own:
  ;;      0  table for CRC-32, made by $start
  ;;   1024  fixed texts (see the data segment)
  ;;   1152  after a run: length of the journal, length of the last call's output
  ;;   1160  the row and the result of a single call, by Python
  ;;   1184  by the guest: the signature of the pod (8 bytes), the hooks it says it implements
  ;;   1200  by Python: number of the cycle, number of the cycle state, resource and action of the event,
  ;;         time now, when the pod was queued, place of the pods that were asked for last (8 bytes each)
  ;;   1280  slots, set by Python: the places (see "nodes" below) of what getters answer, in the order of instance.py;
  ;;         -1 means: ask Python for the value first
  ;;   1408  the last 8 reasons that were written to the journal: address, length, number, unused (4 bytes each)
  ;; Set by Python.
  (global $directory (export "directory") (mut i32) (i32.const 0))
  (global $severity (export "severity") (mut i32) (i32.const 0))
  (global $journal (export "journal") (mut i32) (i32.const 0))
  (global $journal_limit (export "journal_limit") (mut i32) (i32.const 0))
  (global $log_limit (export "log_limit") (mut i32) (i32.const 0))
  (global $reason (export "reason") (mut i32) (i32.const 0))
  (global $reason_limit (export "reason_limit") (mut i32) (i32.const 0))
  (global $output (export "output") (mut i32) (i32.const 0))
  (global $output_limit (export "output_limit") (mut i32) (i32.const 0))

  ;; Read by Python.
  (global $journal_len (export "journal_len") (mut i32) (i32.const 0))
  (global $output_len (export "output_len") (mut i32) (i32.const 0))
  (global $output_dropped (export "output_dropped") (mut i64) (i64.const 0))
  (global $at (export "at") (mut i32) (i32.const 0))
  (global $refused_len (export "refused_len") (mut i32) (i32.const 0))

  ;; The node at hand: its row, or -1, and the place of its name.
  (global $row (mut i32) (i32.const -1))
  (global $name (mut i64) (i64.const 0))
  (global $reason_len (mut i32) (i32.const 0))
  ;; How many reasons were written to the journal, and how many of the last ones are remembered.
  (global $reasons (export "reasons") (mut i32) (i32.const 0))
  (global $remembered (mut i32) (i32.const 0))

  ;; ---------------------------------------------------------------- getters: (buf, limit) -> len

  ;; Copy only what fits; always tell the full length.
  (func $answer_own (param $src i32) (param $len i32) (param $buf i32) (param $limit i32) (result i32)
    (if (i32.le_u (local.get $len) (local.get $limit))
      (then (memory.copy $guest $own (local.get $buf) (local.get $src) (local.get $len))))
    (local.get $len))

  ;; What is called once a node calls no further function where it can be helped: a call costs as much as the copy.
  (func $answer_shared (param $place i64) (param $buf i32) (param $limit i32) (result i32)
    (local $len i32)
    (local.set $len (i32.wrap_i64 (i64.shr_u (local.get $place) (i64.const 32))))
    (if (i32.le_u (local.get $len) (local.get $limit))
      (then (memory.copy $guest $shared (local.get $buf) (i32.wrap_i64 (local.get $place)) (local.get $len))))
    (local.get $len))

  (func $answer_slot (param $slot i32) (param $buf i32) (param $limit i32) (result i32)
    (local.set $slot (i32.add (i32.const 1280) (i32.shl (local.get $slot) (i32.const 3))))
    (if (i64.eq (i64.load $own (local.get $slot)) (i64.const -1))
      (then (call $check (call $host_fill (i32.shr_u (i32.sub (local.get $slot) (i32.const 1280)) (i32.const 3))))))
    (call $answer_shared (i64.load $own (local.get $slot)) (local.get $buf) (local.get $limit)))

  (func $check (param $failed i32) (if (local.get $failed) (then unreachable)))

  ;; As $answer_shared, of the slot 0.
  (func $k8s.io/scheduler.currentPod (param $buf i32) (param $limit i32) (result i32)
    (local $len i32)
    (local.set $len (i32.load $own (i32.const 1284)))
    (if (i32.le_u (local.get $len) (local.get $limit))
      (then (memory.copy $guest $shared (local.get $buf) (i32.load $own (i32.const 1280)) (local.get $len))))
    (local.get $len))
  (func $k8s.io/scheduler.targetPod (param $buf i32) (param $limit i32) (result i32)
    (call $answer_slot (i32.const 1) (local.get $buf) (local.get $limit)))
  (func $k8s.io/scheduler.get_config (param $buf i32) (param $limit i32) (result i32)
    (call $answer_slot (i32.const 2) (local.get $buf) (local.get $limit)))
  (func $k8s.io/scheduler.filteredNodeList (param $buf i32) (param $limit i32) (result i32)
    (call $answer_slot (i32.const 3) (local.get $buf) (local.get $limit)))
  (func $k8s.io/scheduler.nodeToStatusMap (param $buf i32) (param $limit i32) (result i32)
    (call $answer_slot (i32.const 4) (local.get $buf) (local.get $limit)))
  (func $k8s.io/scheduler.nodeScoreList (param $buf i32) (param $limit i32) (result i32)
    (call $answer_slot (i32.const 5) (local.get $buf) (local.get $limit)))

  ;; ---------------------------------------------------------------- nodes
  ;; A place is a pointer (low 32 bits) and a length (high 32 bits) in $shared, so that one load reads both.
  ;; The directory (see mirror.py):  0 rows  4 hash mask  8 hash table  12 image table  16 length of the NodeList
  ;; 20 numbers (see numbers.py)  24 bytes a row of them
  ;; then 32 bytes a row:  0 place of the name  8 place of the Node  16 images  20 unused

  (func $pointer (param $place i64) (result i32) (i32.wrap_i64 (local.get $place)))
  (func $length (param $place i64) (result i32) (i32.wrap_i64 (i64.shr_u (local.get $place) (i64.const 32))))

  (func $row_entry (param $row i32) (result i32)
    (i32.add (i32.add (global.get $directory) (i32.const 32)) (i32.shl (local.get $row) (i32.const 5))))
  (func $row_name (param $row i32) (result i64) (i64.load $shared (call $row_entry (local.get $row))))

  ;; As $answer_shared, of the name that $run has looked up.
  (func $k8s.io/scheduler.currentNodeName (param $buf i32) (param $limit i32) (result i32)
    (local $len i32)
    (local.set $len (i32.wrap_i64 (i64.shr_u (global.get $name) (i64.const 32))))
    (if (i32.eqz (local.get $len)) (then (return (i32.const 0))))
    (if (i32.le_u (local.get $len) (local.get $limit))
      (then (memory.copy $guest $shared (local.get $buf) (i32.wrap_i64 (global.get $name)) (local.get $len))))
    (local.get $len))

  (func $is_named (param $row i32) (param $name i32) (param $len i32) (result i32)
    (local $place i64) (local $at i32)
    (local.set $place (call $row_name (local.get $row)))
    (if (i32.ne (call $length (local.get $place)) (local.get $len)) (then (return (i32.const 0))))
    (local.set $at (call $pointer (local.get $place)))
    (block $differs
      (loop $next
        (if (i32.eqz (local.get $len)) (then (return (i32.const 1))))
        (br_if $differs
          (i32.ne (i32.load8_u $shared (local.get $at)) (i32.load8_u $guest (local.get $name))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (local.set $name (i32.add (local.get $name) (i32.const 1)))
        (local.set $len (i32.sub (local.get $len) (i32.const 1)))
        (br $next)))
    (i32.const 0))

  ;; CRC-32 (zlib's), table at the address 0 of $own, made by $start.
  (func $crc (param $at i32) (param $len i32) (result i32)
    (local $crc i32)
    (local.set $crc (i32.const -1))
    (loop $next
      (if (local.get $len)
        (then
          (local.set $crc
            (i32.xor
              (i32.shr_u (local.get $crc) (i32.const 8))
              (i32.load $own
                (i32.shl
                  (i32.and (i32.xor (local.get $crc) (i32.load8_u $guest (local.get $at))) (i32.const 255))
                  (i32.const 2)))))
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (local.set $len (i32.sub (local.get $len) (i32.const 1)))
          (br $next))))
    (i32.xor (local.get $crc) (i32.const -1)))

  ;; The row of the node with that name, or -1. Guests nearly always ask for the node at hand.
  (func $find (param $name i32) (param $len i32) (result i32)
    (local $slot i32) (local $mask i32) (local $row i32)
    (if (i32.or (i32.eqz (global.get $directory)) (i32.eqz (local.get $len))) (then (return (i32.const -1))))
    (if (i32.ge_s (global.get $row) (i32.const 0))
      (then
        (if (call $is_named (global.get $row) (local.get $name) (local.get $len))
          (then (return (global.get $row))))))
    (if (i32.gt_u (local.get $len) (i32.const 4096)) (then (return (i32.const -1))))
    (local.set $mask (i32.load $shared offset=4 (global.get $directory)))
    (local.set $slot (i32.and (call $crc (local.get $name) (local.get $len)) (local.get $mask)))
    (loop $next
      (local.set $row
        (i32.load $shared
          (i32.add (i32.load $shared offset=8 (global.get $directory)) (i32.shl (local.get $slot) (i32.const 2)))))
      (if (i32.eqz (local.get $row)) (then (return (i32.const -1))))
      (local.set $row (i32.sub (local.get $row) (i32.const 1)))
      (if (call $is_named (local.get $row) (local.get $name) (local.get $len)) (then (return (local.get $row))))
      (local.set $slot (i32.and (i32.add (local.get $slot) (i32.const 1)) (local.get $mask)))
      (br $next))
    (unreachable))

  (func $k8s.io/api.node (param $name i32) (param $name_len i32) (param $buf i32) (param $limit i32) (result i32)
    (local $row i32)
    (local.set $row (call $find (local.get $name) (local.get $name_len)))
    (if (i32.lt_s (local.get $row) (i32.const 0)) (then (return (i32.const 0))))
    (call $answer_shared (i64.load $shared offset=8 (call $row_entry (local.get $row))) (local.get $buf) (local.get $limit)))

  (func $put_varint (param $buf i32) (param $value i32) (result i32)
    (loop $next
      (if (i32.ge_u (local.get $value) (i32.const 128))
        (then
          (i32.store8 $guest (local.get $buf) (i32.or (local.get $value) (i32.const 128)))
          (local.set $value (i32.shr_u (local.get $value) (i32.const 7)))
          (local.set $buf (i32.add (local.get $buf) (i32.const 1)))
          (br $next))))
    (i32.store8 $guest (local.get $buf) (local.get $value))
    (i32.add (local.get $buf) (i32.const 1)))

  ;; A NodeList is an empty ListMeta (8 bytes, at 1024 of $own) and the items, each with tag and length.
  (func $k8s.io/api.nodeList (param $buf i32) (param $limit i32) (result i32)
    (local $total i32) (local $row i32) (local $rows i32) (local $item i64)
    (if (global.get $directory)
      (then
        (local.set $total (i32.load $shared offset=16 (global.get $directory)))
        (local.set $rows (i32.load $shared (global.get $directory)))))
    (local.set $total (i32.add (local.get $total) (i32.const 8)))
    (if (i32.gt_u (local.get $total) (local.get $limit)) (then (return (local.get $total))))
    (memory.copy $guest $own (local.get $buf) (i32.const 1024) (i32.const 8))
    (local.set $buf (i32.add (local.get $buf) (i32.const 8)))
    (loop $next
      (if (i32.lt_u (local.get $row) (local.get $rows))
        (then
          (local.set $item (i64.load $shared offset=8 (call $row_entry (local.get $row))))
          (if (call $length (local.get $item))
            (then
              (i32.store8 $guest (local.get $buf) (i32.const 0x12))
              (local.set $buf (call $put_varint (i32.add (local.get $buf) (i32.const 1)) (call $length (local.get $item))))
              (memory.copy $guest $shared
                (local.get $buf) (call $pointer (local.get $item)) (call $length (local.get $item)))
              (local.set $buf (i32.add (local.get $buf) (call $length (local.get $item))))))
          (local.set $row (i32.add (local.get $row) (i32.const 1)))
          (br $next))))
    (local.get $total))

  ;; ---------------------------------------------------------------- kubewasp/v1: nodes by row, numbers, pods
  ;; Numbers of a row (see numbers.py):  0 place of the pods, or -1: ask Python  8 what node_info answers

  (func $kubewasp/v1.current_node (result i32) (global.get $row))

  (func $kubewasp/v1.node_rows (result i32)
    (if (result i32) (global.get $directory)
      (then (i32.load $shared (global.get $directory)))
      (else (i32.const 0))))

  (func $kubewasp/v1.node_row (param $name i32) (param $name_len i32) (result i32)
    (call $find (local.get $name) (local.get $name_len)))

  ;; Whether there is a node in that row.
  (func $is_node (param $row i32) (result i32)
    (if (i32.eqz (global.get $directory)) (then (return (i32.const 0))))
    (if (i32.ge_u (local.get $row) (i32.load $shared (global.get $directory))) (then (return (i32.const 0))))
    (i64.ne (call $row_name (local.get $row)) (i64.const 0)))

  (func $kubewasp/v1.node_name (param $row i32) (param $buf i32) (param $limit i32) (result i32)
    (if (i32.eqz (call $is_node (local.get $row))) (then (return (i32.const 0))))
    (call $answer_shared (call $row_name (local.get $row)) (local.get $buf) (local.get $limit)))

  (func $kubewasp/v1.node_object (param $row i32) (param $buf i32) (param $limit i32) (result i32)
    (if (i32.eqz (call $is_node (local.get $row))) (then (return (i32.const 0))))
    (call $answer_shared (i64.load $shared offset=8 (call $row_entry (local.get $row))) (local.get $buf) (local.get $limit)))

  (func $numbers (param $row i32) (result i32)
    (i32.add (i32.load $shared offset=20 (global.get $directory))
      (i32.mul (local.get $row) (i32.load $shared offset=24 (global.get $directory)))))

  ;; What a hook of a node asks first, in one call: the row, and at $buf the cycle and the node's two generations.
  (func $kubewasp/v1.at_hand (param $buf i32) (result i32)
    (local $numbers i32)
    (i64.store $guest (local.get $buf) (i64.load32_u $own (i32.const 1200)))
    (if (call $is_node (global.get $row))
      (then
        (local.set $numbers (call $numbers (global.get $row)))
        (i64.store $guest offset=8 (local.get $buf) (i64.load $shared offset=8 (local.get $numbers)))
        (i64.store $guest offset=16 (local.get $buf) (i64.load $shared offset=16 (local.get $numbers))))
      (else
        (i64.store $guest offset=8 (local.get $buf) (i64.const 0))
        (i64.store $guest offset=16 (local.get $buf) (i64.const 0))))
    (global.get $row))

  ;; As much as fits: the record grows with the number of resources.
  (func $kubewasp/v1.node_info (param $row i32) (param $buf i32) (param $limit i32) (result i32)
    (local $len i32)
    (if (i32.eqz (call $is_node (local.get $row))) (then (return (i32.const 0))))
    (local.set $len (i32.sub (i32.load $shared offset=24 (global.get $directory)) (i32.const 8)))
    (memory.copy $guest $shared
      (local.get $buf)
      (i32.add (call $numbers (local.get $row)) (i32.const 8))
      (if (result i32) (i32.lt_u (local.get $limit) (local.get $len))
        (then (i32.and (local.get $limit) (i32.const -8)))
        (else (local.get $len))))
    (local.get $len))

  (func $kubewasp/v1.node_pods (param $row i32) (param $buf i32) (param $limit i32) (result i32)
    (local $place i64)
    (if (i32.eqz (call $is_node (local.get $row))) (then (return (i32.const 0))))
    (local.set $place (i64.load $shared (call $numbers (local.get $row))))
    ;; Python leaves the place in $own: the numbers may have moved since this call began.
    (if (i64.eq (local.get $place) (i64.const -1))
      (then
        (call $check (call $host_fill_pods (local.get $row)))
        (local.set $place (i64.load $own (i32.const 1232)))))
    (call $answer_shared (local.get $place) (local.get $buf) (local.get $limit)))

  ;; ---------------------------------------------------------------- kubewasp/v1: the pod, the event, the scheduler

  (func $kubewasp/v1.cycle (result i32) (i32.load $own (i32.const 1200)))
  (func $kubewasp/v1.state (result i32) (i32.load $own (i32.const 1204)))
  (func $kubewasp/v1.event_resource (result i32) (i32.load $own (i32.const 1208)))
  (func $kubewasp/v1.event_action (result i32) (i32.load $own (i32.const 1212)))
  (func $kubewasp/v1.now (result i64) (i64.load $own (i32.const 1216)))
  (func $kubewasp/v1.queued_at (result i64) (i64.load $own (i32.const 1224)))

  ;; As much as fits, as in node_info.
  (func $kubewasp/v1.pod_requests (param $buf i32) (param $limit i32) (result i32)
    (local $len i32)
    (local.set $len (call $answer_slot (i32.const 6) (local.get $buf) (i32.const 0)))
    (memory.copy $guest $shared
      (local.get $buf)
      (i32.load $own (i32.const 1328))
      (if (result i32) (i32.lt_u (local.get $limit) (local.get $len))
        (then (i32.and (local.get $limit) (i32.const -8)))
        (else (local.get $len))))
    (local.get $len))
  (func $kubewasp/v1.feasible_rows (param $buf i32) (param $limit i32) (result i32)
    (call $answer_slot (i32.const 7) (local.get $buf) (local.get $limit)))
  (func $kubewasp/v1.node_scores (param $buf i32) (param $limit i32) (result i32)
    (call $answer_slot (i32.const 8) (local.get $buf) (local.get $limit)))
  (func $kubewasp/v1.node_statuses (param $buf i32) (param $limit i32) (result i32)
    (call $answer_slot (i32.const 9) (local.get $buf) (local.get $limit)))
  (func $kubewasp/v1.event_old (param $buf i32) (param $limit i32) (result i32)
    (call $answer_slot (i32.const 10) (local.get $buf) (local.get $limit)))
  (func $kubewasp/v1.event_new (param $buf i32) (param $limit i32) (result i32)
    (call $answer_slot (i32.const 11) (local.get $buf) (local.get $limit)))
  (func $kubewasp/v1.waiting_pods (param $buf i32) (param $limit i32) (result i32)
    (call $answer_slot (i32.const 12) (local.get $buf) (local.get $limit)))

  ;; With the top bit, so that none at all can be told from nothing said.
  (func $kubewasp/v1.implemented (param $hooks i32)
    (i32.store $own (i32.const 1192) (i32.or (local.get $hooks) (i32.const 0x80000000))))

  (func $kubewasp/v1.resource (param $name i32) (param $name_len i32) (result i32)
    (local $id i32)
    (local.set $id (call $host_resource (local.get $name) (local.get $name_len)))
    (call $check (i32.lt_s (local.get $id) (i32.const 0)))
    (local.get $id))

  (func $decide (param $reject i32) (param $uid i32) (param $uid_len i32) (param $reason i32) (param $reason_len i32)
    (result i32)
    (local $found i32)
    (local.set $found
      (call $host_decide_waiting_pod (local.get $reject) (local.get $uid) (local.get $uid_len) (local.get $reason)
        (local.get $reason_len)))
    (call $check (i32.lt_s (local.get $found) (i32.const 0)))
    (local.get $found))
  (func $kubewasp/v1.allow_waiting_pod (param $uid i32) (param $uid_len i32) (result i32)
    (call $decide (i32.const 0) (local.get $uid) (local.get $uid_len) (i32.const 0) (i32.const 0)))
  (func $kubewasp/v1.reject_waiting_pod
    (param $uid i32) (param $uid_len i32) (param $reason i32) (param $reason_len i32) (result i32)
    (call $decide (i32.const 1) (local.get $uid) (local.get $uid_len) (local.get $reason) (local.get $reason_len)))

  ;; ---------------------------------------------------------------- images
  ;; A row's images: a count, then ids. The image table has 24 bytes an id: 0 place of the name as a JSON string,
  ;; 8 size, 16 number of nodes. The JSON text is put together here, as every node's changes when one node's do.

  (func $image (param $id i32) (result i32)
    (i32.add (i32.load $shared offset=12 (global.get $directory)) (i32.mul (local.get $id) (i32.const 24))))

  (func $digits (param $value i64) (result i32)
    (local $count i32)
    (loop $next
      (local.set $count (i32.add (local.get $count) (i32.const 1)))
      (local.set $value (i64.div_u (local.get $value) (i64.const 10)))
      (br_if $next (i64.ne (local.get $value) (i64.const 0))))
    (local.get $count))

  (func $put_number (param $buf i32) (param $value i64) (result i32)
    (local $at i32) (local $end i32)
    (local.set $end (i32.add (local.get $buf) (call $digits (local.get $value))))
    (local.set $at (local.get $end))
    (loop $next
      (local.set $at (i32.sub (local.get $at) (i32.const 1)))
      (i32.store8 $guest (local.get $at)
        (i32.add (i32.const 48) (i32.wrap_i64 (i64.rem_u (local.get $value) (i64.const 10)))))
      (local.set $value (i64.div_u (local.get $value) (i64.const 10)))
      (br_if $next (i32.gt_u (local.get $at) (local.get $buf))))
    (local.get $end))

  (func $put_text (param $buf i32) (param $src i32) (param $len i32) (result i32)
    (memory.copy $guest $own (local.get $buf) (local.get $src) (local.get $len))
    (i32.add (local.get $buf) (local.get $len)))

  ;; The texts at 1032 of $own:  `null` 4  `:{"Size":` 9  `,"NumNodes":` 12  `}` 1
  (func $k8s.io/scheduler.nodeImageStates
    (param $name i32) (param $name_len i32) (param $buf i32) (param $limit i32) (result i32)
    (local $row i32) (local $images i32) (local $count i32) (local $i i32) (local $total i32) (local $image i32)
    (local.set $row (call $find (local.get $name) (local.get $name_len)))
    (if (i32.lt_s (local.get $row) (i32.const 0))
      (then (return (call $answer_own (i32.const 1032) (i32.const 4) (local.get $buf) (local.get $limit)))))
    (local.set $images (i32.load $shared offset=16 (call $row_entry (local.get $row))))
    (if (local.get $images) (then (local.set $count (i32.load $shared (local.get $images)))))
    ;; the length: braces, and for each image a comma or an opening brace, its name and 22 bytes of fixed text
    (local.set $total (i32.add (i32.mul (local.get $count) (i32.const 23)) (i32.const 1)))
    (if (i32.eqz (local.get $count)) (then (local.set $total (i32.const 2))))
    (loop $measure
      (if (i32.lt_u (local.get $i) (local.get $count))
        (then
          (local.set $image (call $nth_image (local.get $images) (local.get $i)))
          (local.set $total
            (i32.add (local.get $total)
              (i32.add (call $length (i64.load $shared (local.get $image)))
                (i32.add (call $digits (i64.load $shared offset=8 (local.get $image)))
                  (call $digits (i64.load $shared offset=16 (local.get $image)))))))
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (br $measure))))
    (if (i32.gt_u (local.get $total) (local.get $limit)) (then (return (local.get $total))))
    (local.set $i (i32.const 0))
    (i32.store8 $guest (local.get $buf) (i32.const 123)) ;; {
    (if (i32.eqz (local.get $count)) (then (local.set $buf (i32.add (local.get $buf) (i32.const 1)))))
    (loop $write
      (if (i32.lt_u (local.get $i) (local.get $count))
        (then
          (local.set $image (call $nth_image (local.get $images) (local.get $i)))
          (if (local.get $i) (then (i32.store8 $guest (local.get $buf) (i32.const 44)))) ;; ,
          (local.set $buf (i32.add (local.get $buf) (i32.const 1)))
          (memory.copy $guest $shared (local.get $buf) (call $pointer (i64.load $shared (local.get $image)))
            (call $length (i64.load $shared (local.get $image))))
          (local.set $buf (i32.add (local.get $buf) (call $length (i64.load $shared (local.get $image)))))
          (local.set $buf (call $put_text (local.get $buf) (i32.const 1036) (i32.const 9)))
          (local.set $buf (call $put_number (local.get $buf) (i64.load $shared offset=8 (local.get $image))))
          (local.set $buf (call $put_text (local.get $buf) (i32.const 1045) (i32.const 12)))
          (local.set $buf (call $put_number (local.get $buf) (i64.load $shared offset=16 (local.get $image))))
          (local.set $buf (call $put_text (local.get $buf) (i32.const 1057) (i32.const 1)))
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (br $write))))
    (i32.store8 $guest (local.get $buf) (i32.const 125)) ;; }
    (local.get $total))

  (func $nth_image (param $images i32) (param $i i32) (result i32)
    (call $image (i32.load $shared offset=4 (i32.add (local.get $images) (i32.shl (local.get $i) (i32.const 2))))))

  ;; ---------------------------------------------------------------- results

  ;; The last reason before the hook returns wins: it waits here until $run knows the status.
  (func $k8s.io/scheduler.result.status_reason (param $buf i32) (param $len i32)
    (if (i32.gt_u (local.get $len) (global.get $reason_limit)) (then (call $refuse (local.get $len))))
    (memory.copy $own $guest (global.get $reason) (local.get $buf) (local.get $len))
    (global.set $reason_len (local.get $len)))

  ;; A payload over its limit: Python finds the length here and the function's name in the trap.
  (func $refuse (param $len i32) (global.set $refused_len (local.get $len)) (unreachable))

  (func $receive (param $kind i32) (param $buf i32) (param $len i32)
    (call $check (call $host_receive (local.get $kind) (local.get $buf) (local.get $len))))

  (func $k8s.io/scheduler.result.cluster_events (param $buf i32) (param $len i32)
    (call $receive (i32.const 0) (local.get $buf) (local.get $len)))
  (func $k8s.io/scheduler.result.node_names (param $buf i32) (param $len i32)
    (call $receive (i32.const 1) (local.get $buf) (local.get $len)))
  (func $k8s.io/scheduler.result.nominated_node_name (param $buf i32) (param $len i32)
    (call $receive (i32.const 2) (local.get $buf) (local.get $len)))
  (func $k8s.io/scheduler.result.normalized_score_list (param $buf i32) (param $len i32)
    (call $receive (i32.const 3) (local.get $buf) (local.get $len)))
  (func $kubewasp/v1.result.node_scores (param $buf i32) (param $len i32)
    (call $receive (i32.const 5) (local.get $buf) (local.get $len)))
  (func $kubewasp/v1.result.sort_key (param $buf i32) (param $len i32)
    (call $receive (i32.const 6) (local.get $buf) (local.get $len)))
  (func $k8s.io/scheduler.handle.eventrecorder.eventf (param $buf i32) (param $len i32)
    (call $receive (i32.const 4) (local.get $buf) (local.get $len)))

  (func $k8s.io/scheduler.handle.reject_waiting_pod
    (param $uid i32) (param $uid_len i32) (param $buf i32) (param $limit i32)
    (call $check
      (call $host_waiting_pod
        (i32.const 1) (local.get $uid) (local.get $uid_len) (local.get $buf) (local.get $limit))))
  (func $k8s.io/scheduler.handle.get_waiting_pod
    (param $uid i32) (param $uid_len i32) (param $buf i32) (param $limit i32)
    (call $check
      (call $host_waiting_pod
        (i32.const 0) (local.get $uid) (local.get $uid_len) (local.get $buf) (local.get $limit))))

  ;; Pods with the same signature get the same answers: kept at 1184 of $own, where Python reads and clears it.
  (func $kubewasp/v1.pod_signature (param $low i32) (param $high i32)
    (i32.store $own (i32.const 1184) (local.get $low))
    (i32.store $own (i32.const 1188) (local.get $high)))

  ;; ---------------------------------------------------------------- journal: log lines and reasons, in order
  ;; A record is 24 bytes (kind, row, severity, length of the message, length of the payload, unused) and the payload,
  ;; padded to 8. Kinds: 1 log, 2 logs (the message, then the pairs), 3 reason.

  ;; Room for a record of that payload; returns where the payload goes. A full journal is emptied by Python.
  (func $record (param $kind i32) (param $severity i32) (param $message i32) (param $len i32) (result i32)
    (local $at i32)
    (if (i32.gt_u (local.get $len) (i32.sub (global.get $journal_limit) (i32.const 32)))
      (then (call $refuse (local.get $len))))
    (if (i32.gt_u (i32.add (i32.add (global.get $journal_len) (local.get $len)) (i32.const 32))
          (global.get $journal_limit))
      (then
        (call $check (call $host_drain))
        (global.set $journal_len (i32.const 0))
        (global.set $remembered (i32.const 0))))
    (local.set $at (i32.add (global.get $journal) (global.get $journal_len)))
    (i32.store $own (local.get $at) (local.get $kind))
    (i32.store $own offset=4 (local.get $at) (global.get $row))
    (i32.store $own offset=8 (local.get $at) (local.get $severity))
    (i32.store $own offset=12 (local.get $at) (local.get $message))
    (i32.store $own offset=16 (local.get $at) (local.get $len))
    (global.set $journal_len
      (i32.add (global.get $journal_len)
        (i32.and (i32.add (local.get $len) (i32.const 31)) (i32.const -8))))
    (i32.add (local.get $at) (i32.const 24)))

  (func $k8s.io/klog.severity (result i32) (global.get $severity))

  (func $k8s.io/klog.log (param $severity i32) (param $msg i32) (param $msg_len i32)
    (local $at i32)
    (if (i32.lt_s (local.get $severity) (global.get $severity)) (then (return)))
    (call $bound (local.get $msg) (local.get $msg_len))
    (local.set $at (call $record (i32.const 1) (local.get $severity) (local.get $msg_len) (local.get $msg_len)))
    (memory.copy $own $guest (local.get $at) (local.get $msg) (local.get $msg_len)))

  (func $k8s.io/klog.logs
    (param $severity i32) (param $msg i32) (param $msg_len i32) (param $kvs i32) (param $kvs_len i32)
    (local $at i32)
    (if (i32.lt_s (local.get $severity) (global.get $severity)) (then (return)))
    (call $bound (local.get $msg) (local.get $msg_len))
    (call $bound (local.get $kvs) (local.get $kvs_len))
    (if (i32.gt_u (i32.add (local.get $msg_len) (local.get $kvs_len)) (global.get $log_limit))
      (then (call $refuse (i32.add (local.get $msg_len) (local.get $kvs_len)))))
    (local.set $at
      (call $record (i32.const 2) (local.get $severity) (local.get $msg_len)
        (i32.add (local.get $msg_len) (local.get $kvs_len))))
    (memory.copy $own $guest (local.get $at) (local.get $msg) (local.get $msg_len))
    (memory.copy $own $guest (i32.add (local.get $at) (local.get $msg_len)) (local.get $kvs) (local.get $kvs_len)))

  ;; Refuses a text that is too long or lies outside the guest's memory before anything of it is kept:
  ;; a record must not be left half-written, and the sum of two lengths must not wrap around.
  (func $bound (param $at i32) (param $len i32)
    (if (i32.gt_u (local.get $len) (global.get $log_limit)) (then (call $refuse (local.get $len))))
    (if (i64.gt_u (i64.add (i64.extend_i32_u (local.get $at)) (i64.extend_i32_u (local.get $len)))
          (i64.shl (i64.extend_i32_u (memory.size $guest)) (i64.const 16)))
      (then
        ;; trap as the runtime does
        (drop (i32.load8_u $guest (i32.const -1)))
        unreachable)))

  ;; Writes the waiting reason to the journal unless it is one of the last, and returns its number (from 1). Filters have
  ;; few reasons, and each is read by Python once for hundreds of nodes.
  (func $commit_reason (result i32)
    (local $entry i32) (local $end i32) (local $at i32)
    (if (i32.eqz (global.get $reason_len)) (then (return (i32.const 0))))
    (local.set $entry (i32.const 1408))
    (local.set $end
      (i32.add (i32.const 1408)
        (i32.shl
          (select (global.get $remembered) (i32.const 8) (i32.lt_u (global.get $remembered) (i32.const 8)))
          (i32.const 4))))
    (loop $next
      (if (i32.lt_u (local.get $entry) (local.get $end))
        (then
          (if (i32.eq (i32.load $own offset=4 (local.get $entry)) (global.get $reason_len))
            (then
              (if (call $same (i32.load $own (local.get $entry)) (global.get $reason) (global.get $reason_len))
                (then (return (i32.load $own offset=8 (local.get $entry)))))))
          (local.set $entry (i32.add (local.get $entry) (i32.const 16)))
          (br $next))))
    (local.set $at (call $record (i32.const 3) (i32.const 0) (i32.const 0) (global.get $reason_len)))
    (memory.copy $own $own (local.get $at) (global.get $reason) (global.get $reason_len))
    (global.set $reasons (i32.add (global.get $reasons) (i32.const 1)))
    (local.set $entry
      (i32.add (i32.const 1408) (i32.shl (i32.and (global.get $remembered) (i32.const 7)) (i32.const 4))))
    (i32.store $own (local.get $entry) (local.get $at))
    (i32.store $own offset=4 (local.get $entry) (global.get $reason_len))
    (i32.store $own offset=8 (local.get $entry) (global.get $reasons))
    (global.set $remembered (i32.add (global.get $remembered) (i32.const 1)))
    (global.get $reasons))

  (func $same (param $one i32) (param $other i32) (param $len i32) (result i32)
    (loop $eight
      (if (i32.ge_u (local.get $len) (i32.const 8))
        (then
          (if (i64.ne (i64.load $own (local.get $one)) (i64.load $own (local.get $other))) (then (return (i32.const 0))))
          (local.set $one (i32.add (local.get $one) (i32.const 8)))
          (local.set $other (i32.add (local.get $other) (i32.const 8)))
          (local.set $len (i32.sub (local.get $len) (i32.const 8)))
          (br $eight))))
    (loop $single
      (if (local.get $len)
        (then
          (if (i32.ne (i32.load8_u $own (local.get $one)) (i32.load8_u $own (local.get $other)))
            (then (return (i32.const 0))))
          (local.set $one (i32.add (local.get $one) (i32.const 1)))
          (local.set $other (i32.add (local.get $other) (i32.const 1)))
          (local.set $len (i32.sub (local.get $len) (i32.const 1)))
          (br $single))))
    (i32.const 1))

  ;; ---------------------------------------------------------------- WASI

  ;; stdout and stderr are kept up to a limit; the rest is counted and thrown away. Other files do not exist.
  (func $wasi_snapshot_preview1.fd_write
    (param $fd i32) (param $iovs i32) (param $iovs_len i32) (param $written i32) (result i32)
    (local $len i32) (local $room i32) (local $total i32)
    (if (i32.and (i32.ne (local.get $fd) (i32.const 1)) (i32.ne (local.get $fd) (i32.const 2)))
      (then (return (i32.const 8)))) ;; EBADF
    (loop $next
      (if (local.get $iovs_len)
        (then
          (local.set $len (i32.load $guest offset=4 (local.get $iovs)))
          (local.set $room (i32.sub (global.get $output_limit) (global.get $output_len)))
          (if (i32.gt_u (local.get $len) (local.get $room))
            (then
              (global.set $output_dropped
                (i64.add (global.get $output_dropped)
                  (i64.extend_i32_u (i32.sub (local.get $len) (local.get $room))))))
            (else (local.set $room (local.get $len))))
          (memory.copy $own $guest
            (i32.add (global.get $output) (global.get $output_len))
            (i32.load $guest (local.get $iovs)) (local.get $room))
          (global.set $output_len (i32.add (global.get $output_len) (local.get $room)))
          (local.set $total (i32.add (local.get $total) (local.get $len)))
          (local.set $iovs (i32.add (local.get $iovs) (i32.const 8)))
          (local.set $iovs_len (i32.sub (local.get $iovs_len) (i32.const 1)))
          (br $next))))
    (i32.store $guest (local.get $written) (local.get $total))
    (i32.const 0))

  ;; Python sleeps, and no longer than the time limit allows; -1 means that the limit was reached.
  (func $wasi_snapshot_preview1.poll_oneoff (param $in i32) (param $out i32) (param $n i32) (param $events i32) (result i32)
    (local $errno i32)
    (local.set $errno (call $host_poll (local.get $in) (local.get $out) (local.get $n) (local.get $events)))
    (call $check (i32.lt_s (local.get $errno) (i32.const 0)))
    (local.get $errno))

  ;; ---------------------------------------------------------------- the loop

  ;; Calls one hook for the rows listed at $rows (for the rows themselves when 0) from $from to $to.
  ;; $kind is what the hook returns: 0 nothing, 1 i32, 2 i64. A result takes 16 bytes: the value, the reason's number.
  ;; $first is 1 where numbering of the reasons starts, 0 for a further batch. After a trap, $at tells which call it was.
  (func (export "run")
    (param $hook i32) (param $kind i32) (param $rows i32) (param $from i32) (param $to i32) (param $results i32)
    (param $first i32)
    (local $value i64)
    (call $begin (local.get $first))
    (global.set $at (local.get $from))
    (loop $next
      (if (i32.lt_u (global.get $at) (local.get $to))
        (then
          (global.set $row
            (if (result i32) (local.get $rows)
              (then (i32.load $own (i32.add (local.get $rows) (i32.shl (global.get $at) (i32.const 2)))))
              (else (global.get $at))))
          (global.set $name
            (if (result i64) (i32.lt_s (global.get $row) (i32.const 0))
              (then (i64.const 0))
              (else
                (i64.load $shared offset=32
                  (i32.add (global.get $directory) (i32.shl (global.get $row) (i32.const 5)))))))
          (global.set $reason_len (i32.const 0))
          (global.set $output_len (i32.const 0))
          (global.set $output_dropped (i64.const 0))
          (local.set $value (call $invoke (local.get $hook) (local.get $kind)))
          (i64.store $own (local.get $results) (local.get $value))
          (i64.store $own offset=8 (local.get $results)
            (if (result i64) (i64.ne (local.get $value) (i64.const 0))
              (then (i64.extend_i32_u (call $commit_reason)))
              (else (i64.const 0))))
          (local.set $results (i32.add (local.get $results) (i32.const 16)))
          (global.set $at (i32.add (global.get $at) (i32.const 1)))
          (br $next))))
    (global.set $row (i32.const -1))
    (global.set $name (i64.const 0))
    (i32.store $own (i32.const 1152) (global.get $journal_len))
    (i32.store $own (i32.const 1156) (global.get $output_len)))

  ;; The signatures of the pods whose places stand at $pods, from 0 to $count: each takes the place of its pod's place.
  ;; Every pod is a cycle of its own to the guest.
  (func (export "sign") (param $hook i32) (param $pods i32) (param $count i32)
    (call $begin (i32.const 1))
    (global.set $at (i32.const 0))
    (loop $next
      (if (i32.lt_u (global.get $at) (local.get $count))
        (then
          (i64.store $own (i32.const 1280) (i64.load $own (local.get $pods)))
          (i64.store $own (i32.const 1328) (i64.const -1)) ;; its requests: Python looks at $at
          (i32.store $own (i32.const 1200)
            (i32.and (i32.add (i32.load $own (i32.const 1200)) (i32.const 1)) (i32.const 0x7FFFFFFF)))
          (global.set $output_len (i32.const 0))
          (global.set $output_dropped (i64.const 0))
          (i64.store $own (local.get $pods) (call_indirect $hooks (type $packed) (local.get $hook)))
          (local.set $pods (i32.add (local.get $pods) (i32.const 8)))
          (global.set $at (i32.add (global.get $at) (i32.const 1)))
          (br $next))))
    (i32.store $own (i32.const 1152) (global.get $journal_len))
    (i32.store $own (i32.const 1156) (global.get $output_len)))

  (func $invoke (param $hook i32) (param $kind i32) (result i64)
    (if (i32.eq (local.get $kind) (i32.const 1))
      (then (return (i64.extend_i32_s (call_indirect $hooks (type $status) (local.get $hook))))))
    (if (i32.eq (local.get $kind) (i32.const 2))
      (then (return (call_indirect $hooks (type $packed) (local.get $hook)))))
    (call_indirect $hooks (type $nothing) (local.get $hook))
    (i64.const 0))

  ;; Before a batch, and before a start function.
  (func $begin (export "begin") (param $first i32)
    (global.set $journal_len (i32.const 0))
    (global.set $remembered (i32.const 0))
    (global.set $reason_len (i32.const 0))
    (global.set $output_len (i32.const 0))
    (global.set $output_dropped (i64.const 0))
    (global.set $refused_len (i32.const 0))
    (if (local.get $first) (then (global.set $reasons (i32.const 0)))))

  ;; metadata: {selfLink: "", resourceVersion: "", continue: ""}, as the API server always writes it
  (data (memory $own) (i32.const 1024) "\0a\06\0a\00\12\00\1a\00null:{\"Size\":,\"NumNodes\":}")

  (func $start
    (local $byte i32) (local $crc i32) (local $bit i32)
    (loop $next
      (local.set $crc (local.get $byte))
      (local.set $bit (i32.const 8))
      (loop $shift
        (local.set $crc
          (i32.xor
            (i32.shr_u (local.get $crc) (i32.const 1))
            (i32.and (i32.const 0xEDB88320) (i32.sub (i32.const 0) (i32.and (local.get $crc) (i32.const 1))))))
        (local.set $bit (i32.sub (local.get $bit) (i32.const 1)))
        (br_if $shift (local.get $bit)))
      (i32.store $own (i32.shl (local.get $byte) (i32.const 2)) (local.get $crc))
      (local.set $byte (i32.add (local.get $byte) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $byte) (i32.const 256)))))
  (start $start)
  ;;@elements
)
