;; Scheduling policy in WebAssembly text: prefers the node with the pod's number.
;;
;;   score   10 points for a node whose name ends in the same digit as the pod's name (web-3 prefers node-3), else 0
;;   filter  one number may be reserved: its nodes accept no pods
;;
;; Configuration (guestConfig), any text:
;;   {"reverse": true}   reverses the score: 10 points where the digits differ
;;   {"reserved": 3}     rejects nodes with a name that ends in 3
;; The policy does not parse JSON. It searches for the word `true` and for the first digit.
;;
;; A name that does not end in a digit never scores.
(module
  ;; Getters of the host. They fill a buffer and return the length of the value; if that is more than the limit,
  ;; nothing is written and the guest calls again with a larger buffer.
  (type $getter (func (param $buffer i32) (param $limit i32) (result i32)))
  (import "k8s.io/scheduler" "currentPod" (func $current_pod (type $getter)))            ;; protobuf core.v1.Pod
  (import "k8s.io/scheduler" "currentNodeName" (func $current_node_name (type $getter))) ;; text
  (import "k8s.io/scheduler" "get_config" (func $get_config (type $getter)))             ;; text
  ;; Sets the reason of a rejection.
  (import "k8s.io/scheduler" "result.status_reason" (func $status_reason (param $text i32) (param $length i32)))

  ;; The host reads and writes this memory: the text of the reason is at 0, values of the host from 1024 on.
  (memory (export "memory") 1)
  (data (i32.const 0) "node number N is reserved")
  (global $buffer i32 (i32.const 1024))

  ;; State. -1 is "no digit". An instance has one pod at a time, whose cycle begins with prefilter, so plain globals
  ;; are enough.
  (global $reverse (mut i32) (i32.const 0))
  (global $reserved (mut i32) (i32.const -1))
  (global $pod_digit (mut i32) (i32.const -1))

  ;; ---- hooks, in the order in which the host calls them -----------------------------------------------------------

  ;; Called once, after loading.
  (func (export "_initialize")
    (local $at i32) (local $end i32) (local $digit i32)
    (local.set $at (global.get $buffer))
    (local.set $end (i32.add (local.get $at) (call $read_config)))
    (loop $next
      (if (i32.lt_u (local.get $at) (local.get $end))
        (then
          ;; Four bytes at a time: "true" is one 32-bit number. The memory after the configuration is zero.
          (if (i32.eq (i32.load (local.get $at)) (i32.const 0x65757274)) (then (global.set $reverse (i32.const 1))))
          (local.set $digit (call $digit (local.get $at)))
          (if (i32.eq (global.get $reserved) (i32.const -1)) (then (global.set $reserved (local.get $digit))))
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (br $next)))))

  ;; Called at the beginning of every scheduling cycle: reads the pod once, not once per node.
  ;; 0 is the status Success.
  (func (export "prefilter") (result i32)
    (local $metadata i32) (local $name i32)
    (global.set $pod_digit (i32.const -1))
    ;; Pod.metadata is field 1 of the message, ObjectMeta.name is field 1 of ObjectMeta.
    (local.set $metadata (call $field_1 (global.get $buffer) (i32.add (global.get $buffer) (call $read_pod))))
    (if (local.get $metadata)
      (then
        (local.set $name (call $field_1 (local.get $metadata) (global.get $field_end)))
        (if (local.get $name)
          (then (global.set $pod_digit (call $last_digit (local.get $name) (global.get $field_end)))))))
    (i32.const 0))

  ;; Called for every node. 2 is the status Unschedulable.
  (func (export "filter") (result i32)
    (local $digit i32)
    (local.set $digit (call $node_digit))
    (if (i32.or (i32.eq (local.get $digit) (i32.const -1)) (i32.ne (local.get $digit) (global.get $reserved)))
      (then (return (i32.const 0))))
    ;; The digit replaces the N.
    (i32.store8 (i32.const 12) (i32.add (local.get $digit) (i32.const 48)))
    (call $status_reason (i32.const 0) (i32.const 25))
    (i32.const 2))

  ;; Called for every feasible node. The result has two numbers: the score in the high 32 bits, the status
  ;; (0, Success) in the low ones.
  (func (export "score") (result i64)
    (local $digit i32)
    (local.set $digit (call $node_digit))
    (if (i32.or (i32.eq (local.get $digit) (i32.const -1)) (i32.eq (global.get $pod_digit) (i32.const -1)))
      (then (return (i64.const 0))))
    (if (result i64) (i32.xor (i32.eq (local.get $digit) (global.get $pod_digit)) (global.get $reverse))
      (then (i64.shl (i64.const 10) (i64.const 32)))
      (else (i64.const 0))))

  ;; ---- calls to the host -------------------------------------------------------------------------------------------

  (func $node_digit (result i32)
    ;; Kubernetes allows names of up to 253 bytes: this buffer is always large enough.
    (call $last_digit (global.get $buffer)
      (i32.add (global.get $buffer) (call $current_node_name (global.get $buffer) (i32.const 1024)))))

  ;; Both return the length of the value at $buffer. If it did not fit, they grow the memory and call again.
  (func $read_config (result i32)
    (local $length i32)
    (local.set $length (call $get_config (global.get $buffer) (call $room)))
    (if (i32.gt_u (local.get $length) (call $room))
      (then
        (call $grow (local.get $length))
        (drop (call $get_config (global.get $buffer) (call $room)))))
    (local.get $length))
  (func $read_pod (result i32)
    (local $length i32)
    (local.set $length (call $current_pod (global.get $buffer) (call $room)))
    (if (i32.gt_u (local.get $length) (call $room))
      (then
        (call $grow (local.get $length))
        (drop (call $current_pod (global.get $buffer) (call $room)))))
    (local.get $length))

  ;; Bytes between the beginning of the buffer and the end of the memory, which is counted in pages of 64 KiB. The
  ;; last four stay free, so that a 32-bit load at the buffer's last byte is inside the memory too.
  (func $room (result i32)
    (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.add (global.get $buffer) (i32.const 4))))
  (func $grow (param $length i32)
    (if (i32.eq (i32.const -1)
          (memory.grow (i32.add (i32.shr_u (i32.sub (local.get $length) (call $room)) (i32.const 16)) (i32.const 1))))
      (then (unreachable)))) ;; out of memory: the host reports a trap

  ;; ---- digits -----------------------------------------------------------------------------------------------------

  ;; The digit at this address, or -1. Below "0" the subtraction wraps around to a huge
  ;; unsigned number, so one comparison is enough.
  (func $digit (param $at i32) (result i32)
    (local $value i32)
    (local.set $value (i32.sub (i32.load8_u (local.get $at)) (i32.const 48)))
    (select (local.get $value) (i32.const -1) (i32.lt_u (local.get $value) (i32.const 10))))

  (func $last_digit (param $text i32) (param $end i32) (result i32)
    (if (i32.eq (local.get $text) (local.get $end)) (then (return (i32.const -1))))
    (call $digit (i32.sub (local.get $end) (i32.const 1))))

  ;; ---- protobuf ---------------------------------------------------------------------------------------------------

  ;; A message is a sequence of fields, and a field is a key and a value. The key is `number * 8 + wire type`; wire
  ;; type 2 (strings and messages) is a length and that many bytes. Lengths and keys are varints: seven bits a byte,
  ;; lowest first, and the high bit is set if more follow.
  ;;
  ;; Finds field 1 of wire type 2. Returns the address of its value, or 0; $field_end is the end of the value.
  (global $field_end (mut i32) (i32.const 0))
  (func $field_1 (param $at i32) (param $end i32) (result i32)
    (local $key i32) (local $wire_type i32) (local $length i32)
    (loop $next
      (if (i32.ge_u (local.get $at) (local.get $end)) (then (return (i32.const 0))))
      (local.set $key (call $varint (local.get $at)))
      (local.set $at (global.get $varint_end))
      (local.set $wire_type (i32.and (local.get $key) (i32.const 7)))
      (if (i32.eq (local.get $wire_type) (i32.const 2))
        (then
          (local.set $length (call $varint (local.get $at)))
          (local.set $at (i32.add (global.get $varint_end) (local.get $length)))
          (if (i32.eq (local.get $key) (i32.const 0x0a)) ;; 1 * 8 + 2
            (then
              (global.set $field_end (local.get $at))
              (return (global.get $varint_end))))
          (br $next)))
      (if (i32.eq (local.get $wire_type) (i32.const 0)) ;; a number
        (then
          (drop (call $varint (local.get $at)))
          (local.set $at (global.get $varint_end))
          (br $next)))
      (local.set $at (i32.add (local.get $at) ;; 1 is eight bytes, 5 is four
        (select (i32.const 8) (i32.const 4) (i32.eq (local.get $wire_type) (i32.const 1)))))
      (br $next))
    (unreachable))

  (global $varint_end (mut i32) (i32.const 0))
  (func $varint (param $at i32) (result i32)
    (local $byte i32) (local $shift i32) (local $value i32)
    (loop $more
      (local.set $byte (i32.load8_u (local.get $at)))
      (local.set $value (i32.or (local.get $value)
        (i32.shl (i32.and (local.get $byte) (i32.const 0x7f)) (local.get $shift))))
      (local.set $shift (i32.add (local.get $shift) (i32.const 7)))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $more (i32.ge_u (local.get $byte) (i32.const 0x80))))
    (global.set $varint_end (local.get $at))
    (local.get $value)))
