;; The adapter: the host's side of the guest ABI, inside the sandbox.  HOT PATH (guard: make counts).
;;
;; A guest's imports are bound to the functions below: operations per node (read the pod, read the node, set a reason,
;; log) never leave wasm. Python makes one call for many nodes ($run) and reads one array back.
;;
;; This is a template. adapter.py fills the placeholders (@own.slots, @row.node) with the numbers of adapter_layout.py,
;; which describes the memory layout, and appends the element segment that puts these functions into the shim's table.
;;
;; Three memories:
;;   $guest   the plugin's own
;;   $shared  names, objects and records of all nodes, written when a node changes, and the current pods; all instances
;;            of all plugins of an engine read the same one
;;   $own     this instance's inputs, results, journal and captured output
(module $kubewasp_adapter
  (type $status (func (result i32)))
  (type $packed (func (result i64)))
  (type $nothing (func))

  (import "guest" "memory" (memory $guest 0))
  (import "host" "shared" (memory $shared 1 65536 shared))
  (import "shim" "table" (table $shim 1 funcref))
  ;; Python callbacks, for rare or unbounded operations. A result other than 0 makes the call trap; Python then knows the
  ;; cause.
  (import "host" "fill" (func $host_fill (param $slot i32) (result i32)))
  (import "host" "drain" (func $host_drain (result i32)))
  (import "host" "receive" (func $host_receive (param $kind i32) (param $buf i32) (param $len i32) (result i32)))
  (import "host" "waiting_pod"
    (func $host_waiting_pod (param $reject i32) (param $uid i32) (param $uid_len i32) (param $buf i32) (param $limit i32)
      (result i32)))
  ;; -1 makes the call trap; any other result is the answer
  (import "host" "decide_waiting_pod"
    (func $host_decide_waiting_pod
      (param $reject i32) (param $uid i32) (param $uid_len i32) (param $reason i32) (param $reason_len i32) (result i32)))
  (import "host" "resource" (func $host_resource (param $name i32) (param $name_len i32) (result i32)))
  (import "host" "fill_pods" (func $host_fill_pods (param $row i32) (result i32)))
  (import "host" "annotation"
    (func $host_annotation
      (param $key i32) (param $key_len i32) (param $value i32) (param $value_len i32) (result i32)))
  (import "host" "poll" (func $host_poll (param $in i32) (param $out i32) (param $n i32) (param $events i32) (result i32)))
  ;;@guard

  (memory $own (export "memory") 1)
  (table $hooks (export "hooks") @hooks.count funcref)

  ;; Set by Python.
  (global $directory (export "directory") (mut i32) (i32.const 0))
  (global $severity (export "severity") (mut i32) (i32.const 0))
  (global $journal (export "journal") (mut i32) (i32.const 0))
  (global $journal_limit (export "journal_limit") (mut i32) (i32.const 0))
  (global $lines (export "lines") (mut i32) (i32.const 0))
  (global $lines_limit (export "lines_limit") (mut i32) (i32.const 0))
  (global $log_limit (export "log_limit") (mut i32) (i32.const 0))
  (global $reason (export "reason") (mut i32) (i32.const 0))
  (global $reason_limit (export "reason_limit") (mut i32) (i32.const 0))
  (global $hint (export "hint") (mut i32) (i32.const 0))
  (global $output (export "output") (mut i32) (i32.const 0))
  (global $output_limit (export "output_limit") (mut i32) (i32.const 0))

  ;; Read by Python.
  (global $journal_len (export "journal_len") (mut i32) (i32.const 0))
  (global $lines_len (export "lines_len") (mut i32) (i32.const 0))
  (global $line_count (export "line_count") (mut i32) (i32.const 0))
  (global $output_len (export "output_len") (mut i32) (i32.const 0))
  (global $output_dropped (export "output_dropped") (mut i64) (i64.const 0))
  (global $at (export "at") (mut i32) (i32.const 0))
  (global $refused_len (export "refused_len") (mut i32) (i32.const 0))

  ;; The current node: its row, or -1, which Python reads after a trap, and the place of its name.
  (global $row (export "row") (mut i32) (i32.const -1))
  (global $name (mut i64) (i64.const 0))
  (global $reason_len (mut i32) (i32.const 0))
  ;; The pending hint: the index of its call plus 1 (0 without a hint), and its length. $split is the length of the reason
  ;; and the separator while both are committed.
  (global $hinted (mut i32) (i32.const 0))
  (global $hint_len (mut i32) (i32.const 0))
  (global $split (mut i32) (i32.const 0))
  ;; Counts of the reasons in the journal, and of those that may be in the list of recent ones.
  (global $reasons (export "reasons") (mut i32) (i32.const 0))
  (global $remembered (mut i32) (i32.const 0))

  ;; ---------------------------------------------------------------- getters: (buf, limit) -> len

  ;; Copies a value that fits; returns its full length in any case.
  (func $answer_own (param $src i32) (param $len i32) (param $buf i32) (param $limit i32) (result i32)
    (if (i32.le_u (local.get $len) (local.get $limit))
      (then (memory.copy $guest $own (local.get $buf) (local.get $src) (local.get $len))))
    (local.get $len))

  ;; Functions that run per node are inlined by hand where possible: a call costs as much as the copy.
  (func $answer_shared (param $place i64) (param $buf i32) (param $limit i32) (result i32)
    (local $len i32)
    (local.set $len (i32.wrap_i64 (i64.shr_u (local.get $place) (i64.const 32))))
    (if (i32.le_u (local.get $len) (local.get $limit))
      (then (memory.copy $guest $shared (local.get $buf) (i32.wrap_i64 (local.get $place)) (local.get $len))))
    (local.get $len))

  (func $answer_slot (param $slot i32) (param $buf i32) (param $limit i32) (result i32)
    (local.set $slot (i32.add (i32.const @own.slots) (i32.shl (local.get $slot) (i32.const 3))))
    (if (i64.eq (i64.load $own (local.get $slot)) (i64.const -1))
      (then (call $check (call $host_fill (i32.shr_u (i32.sub (local.get $slot) (i32.const @own.slots)) (i32.const 3))))))
    (call $answer_shared (i64.load $own (local.get $slot)) (local.get $buf) (local.get $limit)))

  (func $check (param $failed i32) (if (local.get $failed) (then unreachable)))

  ;; $answer_shared for the slot of the pod, inlined.
  (func $k8s.io/scheduler.currentPod (param $buf i32) (param $limit i32) (result i32)
    (local $len i32)
    (local.set $len (i32.load $own (i32.const @own.pod_length)))
    (if (i32.le_u (local.get $len) (local.get $limit))
      (then (memory.copy $guest $shared (local.get $buf) (i32.load $own (i32.const @own.pod)) (local.get $len))))
    (local.get $len))
  (func $k8s.io/scheduler.targetPod (param $buf i32) (param $limit i32) (result i32)
    (call $answer_slot (i32.const @slot.target_pod) (local.get $buf) (local.get $limit)))
  (func $k8s.io/scheduler.get_config (param $buf i32) (param $limit i32) (result i32)
    (call $answer_slot (i32.const @slot.config) (local.get $buf) (local.get $limit)))
  (func $k8s.io/scheduler.filteredNodeList (param $buf i32) (param $limit i32) (result i32)
    (call $answer_slot (i32.const @slot.filtered_nodes) (local.get $buf) (local.get $limit)))
  (func $k8s.io/scheduler.nodeToStatusMap (param $buf i32) (param $limit i32) (result i32)
    (call $answer_slot (i32.const @slot.node_statuses) (local.get $buf) (local.get $limit)))
  (func $k8s.io/scheduler.nodeScoreList (param $buf i32) (param $limit i32) (result i32)
    (call $answer_slot (i32.const @slot.node_scores) (local.get $buf) (local.get $limit)))

  ;; ---------------------------------------------------------------- nodes
  ;; A place is a pointer (low 32 bits) and a length (high 32 bits) in $shared: one load reads both.
  ;; The directory is a header and an entry per row; shared_nodes.py writes it.

  (func $pointer (param $place i64) (result i32) (i32.wrap_i64 (local.get $place)))
  (func $length (param $place i64) (result i32) (i32.wrap_i64 (i64.shr_u (local.get $place) (i64.const 32))))

  (func $row_entry (param $row i32) (result i32)
    (i32.add (i32.add (global.get $directory) (i32.const @directory.bytes)) (i32.shl (local.get $row) (i32.const @row.shift))))
  (func $row_name (param $row i32) (result i64) (i64.load $shared offset=@row.name (call $row_entry (local.get $row))))

  ;; $answer_shared for the name that $run has looked up, inlined.
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

  ;; CRC-32 (zlib's). $start fills its table, at address 0 of $own.
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

  ;; The row of the node with that name, or -1. Nearly always it is the current node.
  (func $find (param $name i32) (param $len i32) (result i32)
    (local $slot i32) (local $mask i32) (local $row i32)
    (if (i32.or (i32.eqz (global.get $directory)) (i32.eqz (local.get $len))) (then (return (i32.const -1))))
    (if (i32.ge_s (global.get $row) (i32.const 0))
      (then
        (if (call $is_named (global.get $row) (local.get $name) (local.get $len))
          (then (return (global.get $row))))))
    (if (i32.gt_u (local.get $len) (i32.const 4096)) (then (return (i32.const -1))))
    (local.set $mask (i32.load $shared offset=@directory.mask (global.get $directory)))
    (local.set $slot (i32.and (call $crc (local.get $name) (local.get $len)) (local.get $mask)))
    (loop $next
      (local.set $row
        (i32.load $shared
          (i32.add (i32.load $shared offset=@directory.names (global.get $directory)) (i32.shl (local.get $slot) (i32.const 2)))))
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
    (call $answer_shared (i64.load $shared offset=@row.node (call $row_entry (local.get $row))) (local.get $buf) (local.get $limit)))

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

  ;; A NodeList is an empty ListMeta and the items, each with tag and length.
  (func $k8s.io/api.nodeList (param $buf i32) (param $limit i32) (result i32)
    (local $total i32) (local $row i32) (local $rows i32) (local $item i64)
    (if (global.get $directory)
      (then
        (local.set $total (i32.load $shared offset=@directory.list_length (global.get $directory)))
        (local.set $rows (i32.load $shared offset=@directory.rows (global.get $directory)))))
    (local.set $total (i32.add (local.get $total) (i32.const @length.list_meta)))
    (if (i32.gt_u (local.get $total) (local.get $limit)) (then (return (local.get $total))))
    (memory.copy $guest $own (local.get $buf) (i32.const @text.list_meta) (i32.const @length.list_meta))
    (local.set $buf (i32.add (local.get $buf) (i32.const @length.list_meta)))
    (loop $next
      (if (i32.lt_u (local.get $row) (local.get $rows))
        (then
          (local.set $item (i64.load $shared offset=@row.node (call $row_entry (local.get $row))))
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

  ;; ---------------------------------------------------------------- kubewasp/v1: nodes by row, records, pods
  ;; Records are described in node_records.py.

  (func $kubewasp/v1.current_node (result i32) (global.get $row))

  (func $kubewasp/v1.node_rows (result i32)
    (if (result i32) (global.get $directory)
      (then (i32.load $shared offset=@directory.rows (global.get $directory)))
      (else (i32.const 0))))

  (func $kubewasp/v1.node_row (param $name i32) (param $name_len i32) (result i32)
    (call $find (local.get $name) (local.get $name_len)))

  ;; Whether there is a node in that row.
  (func $is_node (param $row i32) (result i32)
    (if (i32.eqz (global.get $directory)) (then (return (i32.const 0))))
    (if (i32.ge_u (local.get $row) (i32.load $shared offset=@directory.rows (global.get $directory))) (then (return (i32.const 0))))
    (i64.ne (call $row_name (local.get $row)) (i64.const 0)))

  (func $kubewasp/v1.node_name (param $row i32) (param $buf i32) (param $limit i32) (result i32)
    (if (i32.eqz (call $is_node (local.get $row))) (then (return (i32.const 0))))
    (call $answer_shared (call $row_name (local.get $row)) (local.get $buf) (local.get $limit)))

  (func $kubewasp/v1.node_object (param $row i32) (param $buf i32) (param $limit i32) (result i32)
    (if (i32.eqz (call $is_node (local.get $row))) (then (return (i32.const 0))))
    (call $answer_shared (i64.load $shared offset=@row.node (call $row_entry (local.get $row))) (local.get $buf) (local.get $limit)))

  (func $record_of (param $row i32) (result i32)
    (i32.add (i32.load $shared offset=@directory.records (global.get $directory))
      (i32.mul (local.get $row) (i32.load $shared offset=@directory.stride (global.get $directory)))))

  ;; The state that hooks per node need first: returns the row; writes the cycle and the node's two generations to $buf.
  (func $kubewasp/v1.at_hand (param $buf i32) (result i32)
    (local $record i32)
    (i64.store $guest (local.get $buf) (i64.load32_u $own (i32.const @own.cycle)))
    (if (call $is_node (global.get $row))
      (then
        (local.set $record (call $record_of (global.get $row)))
        (i64.store $guest offset=8 (local.get $buf) (i64.load $shared offset=@record.generation (local.get $record)))
        (i64.store $guest offset=16 (local.get $buf) (i64.load $shared offset=@record.row_generation (local.get $record))))
      (else
        (i64.store $guest offset=8 (local.get $buf) (i64.const 0))
        (i64.store $guest offset=16 (local.get $buf) (i64.const 0))))
    (global.get $row))

  ;; Copies the part that fits: a record grows with the number of resources.
  (func $kubewasp/v1.node_info (param $row i32) (param $buf i32) (param $limit i32) (result i32)
    (local $len i32)
    (if (i32.eqz (call $is_node (local.get $row))) (then (return (i32.const 0))))
    (local.set $len (i32.sub (i32.load $shared offset=@directory.stride (global.get $directory)) (i32.const @record.generation)))
    (memory.copy $guest $shared
      (local.get $buf)
      (i32.add (call $record_of (local.get $row)) (i32.const @record.generation))
      (if (result i32) (i32.lt_u (local.get $limit) (local.get $len))
        (then (i32.and (local.get $limit) (i32.const -8)))
        (else (local.get $len))))
    (local.get $len))

  (func $kubewasp/v1.node_pods (param $row i32) (param $buf i32) (param $limit i32) (result i32)
    (local $place i64)
    (if (i32.eqz (call $is_node (local.get $row))) (then (return (i32.const 0))))
    (local.set $place (i64.load $shared offset=@record.pods (call $record_of (local.get $row))))
    ;; Python writes the place to $own: the records may have moved since this call began.
    (if (i64.eq (local.get $place) (i64.const -1))
      (then
        (call $check (call $host_fill_pods (local.get $row)))
        (local.set $place (i64.load $own (i32.const @own.node_pods)))))
    (call $answer_shared (local.get $place) (local.get $buf) (local.get $limit)))

  ;; ---------------------------------------------------------------- kubewasp/v1: the pod, the event, the scheduler

  (func $kubewasp/v1.cycle (result i32) (i32.load $own (i32.const @own.cycle)))
  (func $kubewasp/v1.state (result i32) (i32.load $own (i32.const @own.state)))
  (func $kubewasp/v1.event_resource (result i32) (i32.load $own (i32.const @own.event_resource)))
  (func $kubewasp/v1.event_action (result i32) (i32.load $own (i32.const @own.event_action)))
  (func $kubewasp/v1.now (result i64) (i64.load $own (i32.const @own.now)))
  (func $kubewasp/v1.queued_at (result i64) (i64.load $own (i32.const @own.queued_at)))

  ;; Copies the part that fits, as node_info does.
  (func $kubewasp/v1.pod_requests (param $buf i32) (param $limit i32) (result i32)
    (local $len i32)
    (local.set $len (call $answer_slot (i32.const @slot.pod_requests) (local.get $buf) (i32.const 0)))
    (memory.copy $guest $shared
      (local.get $buf)
      (i32.load $own (i32.const @own.pod_requests))
      (if (result i32) (i32.lt_u (local.get $limit) (local.get $len))
        (then (i32.and (local.get $limit) (i32.const -8)))
        (else (local.get $len))))
    (local.get $len))
  (func $kubewasp/v1.feasible_rows (param $buf i32) (param $limit i32) (result i32)
    (call $answer_slot (i32.const @slot.feasible_rows) (local.get $buf) (local.get $limit)))
  (func $kubewasp/v1.node_scores (param $buf i32) (param $limit i32) (result i32)
    (call $answer_own
      (i32.load $own (i32.const @own.scores)) (i32.load $own (i32.const @own.scores_size))
      (local.get $buf) (local.get $limit)))
  (func $kubewasp/v1.node_statuses (param $buf i32) (param $limit i32) (result i32)
    (call $answer_slot (i32.const @slot.row_statuses) (local.get $buf) (local.get $limit)))
  (func $kubewasp/v1.event_old (param $buf i32) (param $limit i32) (result i32)
    (call $answer_slot (i32.const @slot.event_old) (local.get $buf) (local.get $limit)))
  (func $kubewasp/v1.event_new (param $buf i32) (param $limit i32) (result i32)
    (call $answer_slot (i32.const @slot.event_new) (local.get $buf) (local.get $limit)))
  (func $kubewasp/v1.waiting_pods (param $buf i32) (param $limit i32) (result i32)
    (call $answer_slot (i32.const @slot.waiting_pods) (local.get $buf) (local.get $limit)))

  ;; With the top bit set, to distinguish an empty set from a guest that made no such call.
  (func $kubewasp/v1.implemented (param $hooks i32)
    (i32.store $own (i32.const @own.implemented) (i32.or (local.get $hooks) (i32.const 0x80000000))))

  ;; Declarations of the start function. A method is stored as its number plus 1, to distinguish the first one from none.
  (func $kubewasp/v1.normalization (param $method i32) (param $reverse i32) (param $maximum i32)
    (i32.store $own (i32.const @own.normalization) (i32.add (local.get $method) (i32.const 1)))
    (i32.store $own offset=4 (i32.const @own.normalization) (local.get $reverse))
    (i32.store $own offset=8 (i32.const @own.normalization) (local.get $maximum)))
  (func $kubewasp/v1.pure (param $reports i32)
    (i32.store $own (i32.const @own.pure) (select (i32.const 2) (i32.const 1) (local.get $reports))))

  ;; Adds to the fields of the pod that the guest has read, a bit each.
  (func $kubewasp/v1.pod_read (param $metadata i32) (param $spec i32) (param $spec_high i32) (param $others i32)
    (call $add_bits (i32.const @own.pod_read) (local.get $metadata))
    (call $add_bits (i32.add (i32.const @own.pod_read) (i32.const 4)) (local.get $others))
    (call $add_bits (i32.add (i32.const @own.pod_read) (i32.const 8)) (local.get $spec))
    (call $add_bits (i32.add (i32.const @own.pod_read) (i32.const 12)) (local.get $spec_high)))
  (func $add_bits (param $at i32) (param $bits i32)
    (i32.store $own (local.get $at) (i32.or (i32.load $own (local.get $at)) (local.get $bits))))

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
  ;; A row has a list of image ids, the image table an entry per id; its name is a JSON string. The JSON text is built
  ;; here: one node's change changes the texts of many.

  (func $image (param $id i32) (result i32)
    (i32.add (i32.load $shared offset=@directory.images (global.get $directory)) (i32.mul (local.get $id) (i32.const @image.bytes))))

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

  (func $k8s.io/scheduler.nodeImageStates
    (param $name i32) (param $name_len i32) (param $buf i32) (param $limit i32) (result i32)
    (local $row i32) (local $images i32) (local $count i32) (local $i i32) (local $total i32) (local $image i32)
    (local.set $row (call $find (local.get $name) (local.get $name_len)))
    (if (i32.lt_s (local.get $row) (i32.const 0))
      (then (return (call $answer_own (i32.const @text.null) (i32.const @length.null) (local.get $buf) (local.get $limit)))))
    (local.set $images (i32.load $shared offset=@row.images (call $row_entry (local.get $row))))
    (if (local.get $images) (then (local.set $count (i32.load $shared (local.get $images)))))
    ;; length: a closing brace, and per image an opening brace or a comma, the fixed texts, its name and numbers
    (local.set $total (i32.add (i32.mul (local.get $count) (i32.const @image.fixed)) (i32.const 1)))
    (if (i32.eqz (local.get $count)) (then (local.set $total (i32.const 2))))
    (loop $measure
      (if (i32.lt_u (local.get $i) (local.get $count))
        (then
          (local.set $image (call $nth_image (local.get $images) (local.get $i)))
          (local.set $total
            (i32.add (local.get $total)
              (i32.add (call $length (i64.load $shared offset=@image.name (local.get $image)))
                (i32.add (call $digits (i64.load $shared offset=@image.size (local.get $image)))
                  (call $digits (i64.load $shared offset=@image.nodes (local.get $image)))))))
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
          (memory.copy $guest $shared (local.get $buf) (call $pointer (i64.load $shared offset=@image.name (local.get $image)))
            (call $length (i64.load $shared offset=@image.name (local.get $image))))
          (local.set $buf (i32.add (local.get $buf) (call $length (i64.load $shared offset=@image.name (local.get $image)))))
          (local.set $buf (call $put_text (local.get $buf) (i32.const @text.image_size) (i32.const @length.image_size)))
          (local.set $buf (call $put_number (local.get $buf) (i64.load $shared offset=@image.size (local.get $image))))
          (local.set $buf (call $put_text (local.get $buf) (i32.const @text.image_nodes) (i32.const @length.image_nodes)))
          (local.set $buf (call $put_number (local.get $buf) (i64.load $shared offset=@image.nodes (local.get $image))))
          (local.set $buf (call $put_text (local.get $buf) (i32.const @text.image_end) (i32.const @length.image_end)))
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (br $write))))
    (i32.store8 $guest (local.get $buf) (i32.const 125)) ;; }
    (local.get $total))

  (func $nth_image (param $images i32) (param $i i32) (result i32)
    (call $image (i32.load $shared offset=@image_list.ids (i32.add (local.get $images) (i32.shl (local.get $i) (i32.const 2))))))

  ;; ---------------------------------------------------------------- results

  ;; The last reason before the hook returns wins; $run commits it if the status is not Success.
  (func $k8s.io/scheduler.result.status_reason (param $buf i32) (param $len i32)
    (if (i32.gt_u (local.get $len) (global.get $reason_limit)) (then (call $refuse (local.get $len))))
    (memory.copy $own $guest (global.get $reason) (local.get $buf) (local.get $len))
    (global.set $reason_len (local.get $len)))

  ;; The last hint wins as well. It is for people, so it is cut instead of refused.
  (func $kubewasp/v1.result.hint (param $buf i32) (param $len i32)
    (local.set $len
      (select (local.get $len) (i32.const @hint.limit) (i32.lt_u (local.get $len) (i32.const @hint.limit))))
    (memory.copy $own $guest (global.get $hint) (local.get $buf) (local.get $len))
    (global.set $hint_len (local.get $len))
    (global.set $hinted (i32.add (global.get $at) (i32.const 1))))

  ;; A payload over its limit. Python reads the length here, and the function's name from the trap.
  (func $refuse (param $len i32) (global.set $refused_len (local.get $len)) (unreachable))

  (func $receive (param $kind i32) (param $buf i32) (param $len i32)
    (call $check (call $host_receive (local.get $kind) (local.get $buf) (local.get $len))))

  (func $k8s.io/scheduler.result.cluster_events (param $buf i32) (param $len i32)
    (call $receive (i32.const @payload.result.cluster_events) (local.get $buf) (local.get $len)))
  (func $k8s.io/scheduler.result.node_names (param $buf i32) (param $len i32)
    (call $receive (i32.const @payload.result.node_names) (local.get $buf) (local.get $len)))
  (func $k8s.io/scheduler.result.nominated_node_name (param $buf i32) (param $len i32)
    (call $receive (i32.const @payload.result.nominated_node_name) (local.get $buf) (local.get $len)))
  (func $k8s.io/scheduler.result.normalized_score_list (param $buf i32) (param $len i32)
    (call $receive (i32.const @payload.result.normalized_score_list) (local.get $buf) (local.get $len)))
  ;; In place: Python reads the scores where it has written them. Of another number of scores it makes an error.
  (func $kubewasp/v1.result.node_scores (param $buf i32) (param $len i32)
    (if (i32.ne (local.get $len) (i32.load $own (i32.const @own.scores_size)))
      (then (call $receive (i32.const @payload.result.node_scores) (local.get $buf) (local.get $len)) (return)))
    (memory.copy $own $guest (i32.load $own (i32.const @own.scores)) (local.get $buf) (local.get $len))
    (i32.store $own (i32.const @own.scores_sent) (i32.const 1)))
  (func $kubewasp/v1.result.sort_key (param $buf i32) (param $len i32)
    (call $receive (i32.const @payload.result.sort_key) (local.get $buf) (local.get $len)))
  (func $kubewasp/v1.result.annotation (param $key i32) (param $key_len i32) (param $value i32) (param $value_len i32)
    (call $check
      (call $host_annotation (local.get $key) (local.get $key_len) (local.get $value) (local.get $value_len))))
  (func $k8s.io/scheduler.handle.eventrecorder.eventf (param $buf i32) (param $len i32)
    (call $receive (i32.const @payload.handle.eventrecorder.eventf) (local.get $buf) (local.get $len)))

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

  ;; The pod's signature: pods with equal ones get equal answers. Python reads and clears it.
  (func $kubewasp/v1.pod_signature (param $low i32) (param $high i32)
    (i32.store $own (i32.const @own.signature) (local.get $low))
    (i32.store $own (i32.const @own.signature_high) (local.get $high)))

  ;; ---------------------------------------------------------------- lines: log lines and output, in order
  ;; The payload of `logs` is the message and then the pairs. Python copies all lines of a batch at once, and reads them
  ;; on another thread: they are apart from the reasons, which it needs at once.

  ;; Begins a record and returns the address of its payload. Python empties a full region.
  (func $line (param $kind i32) (param $severity i32) (param $message i32) (param $len i32) (result i32)
    (local $at i32)
    (if (i32.gt_u (i32.add (i32.add (global.get $lines_len) (local.get $len)) (i32.const @line.room))
          (global.get $lines_limit))
      (then (call $drain)))
    (local.set $at (i32.add (global.get $lines) (global.get $lines_len)))
    (i32.store $own offset=@line.kind (local.get $at) (local.get $kind))
    (i32.store $own offset=@line.row (local.get $at) (global.get $row))
    (i32.store $own offset=@line.severity (local.get $at) (local.get $severity))
    (i32.store $own offset=@line.message (local.get $at) (local.get $message))
    (i32.store $own offset=@line.size (local.get $at) (local.get $len))
    (global.set $lines_len
      (i32.add (global.get $lines_len)
        (i32.and (i32.add (local.get $len) (i32.const @line.padding)) (i32.const -8))))
    (global.set $line_count (i32.add (global.get $line_count) (i32.const 1)))
    (i32.add (local.get $at) (i32.const @line.bytes)))

  (func $drain
    (call $check (call $host_drain))
    (global.set $journal_len (i32.const 0))
    (global.set $remembered (i32.const 0))
    (global.set $lines_len (i32.const 0))
    (global.set $line_count (i32.const 0)))

  (func $k8s.io/klog.severity (result i32) (global.get $severity))

  (func $k8s.io/klog.log (param $severity i32) (param $msg i32) (param $msg_len i32)
    (local $at i32)
    (if (i32.lt_s (local.get $severity) (global.get $severity)) (then (return)))
    (call $bound (local.get $msg) (local.get $msg_len))
    (local.set $at (call $line (i32.const @kind_of_line.log) (local.get $severity) (local.get $msg_len) (local.get $msg_len)))
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
      (call $line (i32.const @kind_of_line.logs) (local.get $severity) (local.get $msg_len)
        (i32.add (local.get $msg_len) (local.get $kvs_len))))
    (memory.copy $own $guest (local.get $at) (local.get $msg) (local.get $msg_len))
    (memory.copy $own $guest (i32.add (local.get $at) (local.get $msg_len)) (local.get $kvs) (local.get $kvs_len)))

  ;; Refuses a text that is too long or outside the guest's memory before a record begins: a record must not be left
  ;; half-written, and the sum of two lengths must not wrap around.
  (func $bound (param $at i32) (param $len i32)
    (if (i32.gt_u (local.get $len) (global.get $log_limit)) (then (call $refuse (local.get $len))))
    (if (i64.gt_u (i64.add (i64.extend_i32_u (local.get $at)) (i64.extend_i32_u (local.get $len)))
          (i64.shl (i64.extend_i32_u (memory.size $guest)) (i64.const 16)))
      (then
        ;; an out-of-bounds trap of the runtime
        (drop (i32.load8_u $guest (i32.const -1)))
        unreachable)))

  ;; ---------------------------------------------------------------- journal: reasons, in order

  ;; Begins a record and returns the address of its payload. Python empties a full journal.
  (func $record (param $split i32) (param $len i32) (result i32)
    (local $at i32)
    (if (i32.gt_u (local.get $len) (i32.sub (global.get $journal_limit) (i32.const @journal.room)))
      (then (call $refuse (local.get $len))))
    (if (i32.gt_u (i32.add (i32.add (global.get $journal_len) (local.get $len)) (i32.const @journal.room))
          (global.get $journal_limit))
      (then (call $drain)))
    (local.set $at (i32.add (global.get $journal) (global.get $journal_len)))
    (i32.store $own (local.get $at) (local.get $len))
    (i32.store $own offset=4 (local.get $at) (local.get $split))
    (global.set $journal_len
      (i32.add (global.get $journal_len)
        (i32.and (i32.add (local.get $len) (i32.const @journal.padding)) (i32.const -8))))
    (i32.add (local.get $at) (i32.const @journal.header)))

  ;; Writes the pending reason to the journal, unless it is a recent one, and returns its number (from 1). Filters have
  ;; few reasons: Python reads each of them once for hundreds of nodes.
  (func $commit_reason (result i32)
    (local $entry i32) (local $end i32) (local $at i32)
    (if (global.get $hinted) (then (return (call $commit_hinted))))
    (if (i32.eqz (global.get $reason_len)) (then (return (i32.const 0))))
    (local.set $entry (i32.const @own.recent_reasons))
    (local.set $end
      (i32.add (i32.const @own.recent_reasons)
        (i32.shl
          (select (global.get $remembered) (i32.const @recent_reasons.count)
            (i32.lt_u (global.get $remembered) (i32.const @recent_reasons.count)))
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
    (local.set $at (call $record (global.get $split) (global.get $reason_len)))
    (memory.copy $own $own (local.get $at) (global.get $reason) (global.get $reason_len))
    (global.set $reasons (i32.add (global.get $reasons) (i32.const 1)))
    (local.set $entry
      (i32.add (i32.const @own.recent_reasons) (i32.shl (i32.and (global.get $remembered) (i32.const @recent_reasons.mask)) (i32.const 4))))
    (i32.store $own (local.get $entry) (local.get $at))
    (i32.store $own offset=4 (local.get $entry) (global.get $reason_len))
    (i32.store $own offset=8 (local.get $entry) (global.get $reasons))
    (global.set $remembered (i32.add (global.get $remembered) (i32.const 1)))
    (global.get $reasons))

  ;; The reason, a separator and the hint as one text. A hint of an earlier call, which succeeded, is dropped.
  (func $commit_hinted (result i32)
    (local $number i32)
    (if (i32.eq (global.get $hinted) (i32.add (global.get $at) (i32.const 1)))
      (then
        (i32.store8 $own (i32.add (global.get $reason) (global.get $reason_len)) (i32.const 0))
        (global.set $split (i32.add (global.get $reason_len) (i32.const 1)))
        (memory.copy $own $own
          (i32.add (global.get $reason) (global.get $split)) (global.get $hint) (global.get $hint_len))
        (global.set $reason_len (i32.add (global.get $split) (global.get $hint_len)))))
    (global.set $hinted (i32.const 0))
    (local.set $number (call $commit_reason))
    (global.set $split (i32.const 0))
    (local.get $number))

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

  ;; stdout and stderr are kept up to a limit per call, for its failure, and as log lines of severity 0; the rest is
  ;; counted and dropped. There are no other files.
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
          (if (i32.le_s (global.get $severity) (i32.const 0))
            (then (call $print (local.get $fd) (local.get $room) (i32.sub (local.get $len) (local.get $room)))))
          (global.set $output_len (i32.add (global.get $output_len) (local.get $room)))
          (local.set $total (i32.add (local.get $total) (local.get $len)))
          (local.set $iovs (i32.add (local.get $iovs) (i32.const 8)))
          (local.set $iovs_len (i32.sub (local.get $iovs_len) (i32.const 1)))
          (br $next))))
    (i32.store $guest (local.get $written) (local.get $total))
    (i32.const 0))

  ;; Adds the end of the output to the lines, and the number of bytes that did not fit.
  (func $print (param $fd i32) (param $len i32) (param $lost i32)
    (local $at i32)
    (if (local.get $len)
      (then
        (local.set $at
          (call $line (i32.const @kind_of_line.output) (local.get $fd) (i32.const 0) (local.get $len)))
        (memory.copy $own $own
          (local.get $at) (i32.add (global.get $output) (global.get $output_len)) (local.get $len))))
    (if (local.get $lost)
      (then
        (drop (call $line (i32.const @kind_of_line.lost_output) (local.get $fd) (local.get $lost) (i32.const 0))))))

  ;; Python sleeps, within the time limit; -1 means that the limit was reached.
  (func $wasi_snapshot_preview1.poll_oneoff (param $in i32) (param $out i32) (param $n i32) (param $events i32) (result i32)
    (local $errno i32)
    (local.set $errno (call $host_poll (local.get $in) (local.get $out) (local.get $n) (local.get $events)))
    (call $check (i32.lt_s (local.get $errno) (i32.const 0)))
    (local.get $errno))

  ;; ---------------------------------------------------------------- the loop

  ;; Calls one hook for the rows listed at $rows (for the rows themselves when 0) from $from to $to.
  ;; $kind is the kind of its return value. A result is the value and the reason's number.
  ;; $first is 1 for the first batch, which resets the numbers of reasons. After a trap, $at is the index of the call.
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
                (i64.load $shared offset=@directory.first_name
                  (i32.add (global.get $directory) (i32.shl (global.get $row) (i32.const @row.shift)))))))
          (global.set $reason_len (i32.const 0))
          (global.set $output_len (i32.const 0))
          (global.set $output_dropped (i64.const 0))
          (local.set $value (call $invoke (local.get $hook) (local.get $kind)))
          (i64.store $own offset=@result.value (local.get $results) (local.get $value))
          (i64.store $own offset=@result.reason (local.get $results)
            (if (result i64) (i64.ne (local.get $value) (i64.const 0))
              (then (i64.extend_i32_u (call $commit_reason)))
              (else (i64.const 0))))
          (local.set $results (i32.add (local.get $results) (i32.const @result.bytes)))
          (global.set $at (i32.add (global.get $at) (i32.const 1)))
          (br $next))))
    (global.set $row (i32.const -1))
    (global.set $name (i64.const 0))
    (call $report))

  ;; Leaves the lengths of journal, output and lines for Python.
  (func $report
    (i32.store $own (i32.const @own.journal_length) (global.get $journal_len))
    (i32.store $own (i32.const @own.output_length) (global.get $output_len))
    (i32.store $own (i32.const @own.lines_length) (global.get $lines_len))
    (i32.store $own (i32.const @own.line_count) (global.get $line_count)))

  ;; Replaces $count places of pods at $pods by the pods' signatures. To the guest, every pod is a cycle of its own.
  (func (export "sign") (param $hook i32) (param $pods i32) (param $count i32)
    (call $begin (i32.const 1))
    (global.set $at (i32.const 0))
    (loop $next
      (if (i32.lt_u (global.get $at) (local.get $count))
        (then
          (i64.store $own (i32.const @own.pod) (i64.load $own (local.get $pods)))
          (i64.store $own (i32.const @own.pod_requests) (i64.const -1)) ;; its requests: Python reads $at
          (i32.store $own (i32.const @own.cycle)
            (i32.and (i32.add (i32.load $own (i32.const @own.cycle)) (i32.const 1)) (i32.const 0x7FFFFFFF)))
          (global.set $output_len (i32.const 0))
          (global.set $output_dropped (i64.const 0))
          (i64.store $own (local.get $pods) (call_indirect $hooks (type $packed) (local.get $hook)))
          (local.set $pods (i32.add (local.get $pods) (i32.const 8)))
          (global.set $at (i32.add (global.get $at) (i32.const 1)))
          (br $next))))
    (call $report))

  (func $invoke (param $hook i32) (param $kind i32) (result i64)
    (if (i32.eq (local.get $kind) (i32.const @kind.i32))
      (then (return (i64.extend_i32_s (call_indirect $hooks (type $status) (local.get $hook))))))
    (if (i32.eq (local.get $kind) (i32.const @kind.i64))
      (then (return (call_indirect $hooks (type $packed) (local.get $hook)))))
    (call_indirect $hooks (type $nothing) (local.get $hook))
    (i64.const 0))

  ;; Before a batch, and before a start function.
  (func $begin (export "begin") (param $first i32)
    (global.set $journal_len (i32.const 0))
    (global.set $remembered (i32.const 0))
    (global.set $lines_len (i32.const 0))
    (global.set $line_count (i32.const 0))
    (global.set $hinted (i32.const 0))
    (global.set $reason_len (i32.const 0))
    (global.set $output_len (i32.const 0))
    (global.set $output_dropped (i64.const 0))
    (global.set $refused_len (i32.const 0))
    (if (local.get $first) (then (global.set $reasons (i32.const 0)))))

  (data (memory $own) (i32.const @own.texts) "@texts")

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
