  ;; ---- protobuf ---------------------------------------------------------------------------------------------------
  ;; A message is a sequence of fields, each a key (number * 8 + wire type) and a value. Wire type 2, texts and messages,
  ;; is a length and that many bytes.

  ;; The address of the next field with that key, and its end in $field_end; 0 if there is none.
  (global $field_end (mut i32) (i32.const 0))
  (func $field (param $at i32) (param $end i32) (param $key i32) (result i32)
    (local $found i32) (local $wire_type i32)
    (loop $next
      (if (i32.ge_u (local.get $at) (local.get $end)) (then (return (i32.const 0))))
      (local.set $found (call $varint (local.get $at)))
      (local.set $at (global.get $varint_end))
      (local.set $wire_type (i32.and (local.get $found) (i32.const 7)))
      (if (i32.eq (local.get $wire_type) (i32.const 2))
        (then
          (local.set $at (i32.add (call $varint (local.get $at)) (global.get $varint_end)))
          (if (i32.eq (local.get $found) (local.get $key))
            (then (global.set $field_end (local.get $at)) (return (global.get $varint_end))))
          (br $next)))
      (if (i32.eqz (local.get $wire_type))
        (then (drop (call $varint (local.get $at))) (local.set $at (global.get $varint_end)) (br $next)))
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
    (local.get $value))
