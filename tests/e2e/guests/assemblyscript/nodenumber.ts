// Prefers the node with the pod's number, in AssemblyScript, without an SDK: web-3 prefers node-3.

@external("k8s.io/scheduler", "get_config")
declare function getConfig(buf: usize, limit: u32): u32;
@external("k8s.io/scheduler", "currentPod")
declare function currentPod(buf: usize, limit: u32): u32;
@external("k8s.io/scheduler", "currentNodeName")
declare function currentNodeName(buf: usize, limit: u32): u32;
@external("k8s.io/scheduler", "result.status_reason")
declare function statusReason(buf: usize, len: u32): void;

const NO_DIGIT: i32 = -1;
const buffer = new ArrayBuffer(65536);
const at = changetype<usize>(buffer);

const config = text(0, getConfig(at, buffer.byteLength)).replaceAll(" ", "");
const reverse = config.includes('"reverse":true');
const place = config.indexOf('"reserved":');
const reserved: i32 = place < 0 ? NO_DIGIT : config.charCodeAt(place + 11) - 48;
let wanted: i32 = NO_DIGIT;

function text(begin: usize, length: u32): string {
  return String.UTF8.decodeUnsafe(at + begin, length);
}

function lastDigit(name: string): i32 {
  const last = name.length ? name.charCodeAt(name.length - 1) - 48 : NO_DIGIT;
  return last >= 0 && last <= 9 ? last : NO_DIGIT;
}

function nodeDigit(): i32 {
  return lastDigit(text(0, currentNodeName(at, buffer.byteLength)));
}

// The name in a core.v1.Pod: the first field of its metadata, which is the first field. Lengths are varints.
function podName(): string {
  currentPod(at, buffer.byteLength);
  let i: usize = 1;
  while (load<u8>(at + i) & 0x80) i++;
  i += 2;
  const length: u32 = load<u8>(at + i);
  if (length > 0x7f) throw new Error("a long name");
  return text(i + 1, length);
}

export function filter(): i32 {
  if (reserved == NO_DIGIT || nodeDigit() != reserved) return 0;
  const reason = String.UTF8.encode("node number " + reserved.toString() + " is reserved");
  statusReason(changetype<usize>(reason), reason.byteLength);
  return 2;
}

export function prescore(): i32 {
  wanted = lastDigit(podName());
  return 0;
}

export function score(): i64 {
  const digit = nodeDigit();
  return wanted != NO_DIGIT && digit != NO_DIGIT && (wanted == digit) != reverse ? (<i64>10) << 32 : 0;
}
