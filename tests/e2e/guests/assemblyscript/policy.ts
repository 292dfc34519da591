// A policy in AssemblyScript, without an SDK: the node's number is its score; a pod named "broken" aborts.

@external("k8s.io/scheduler", "currentNodeName")
declare function currentNodeName(buf: usize, limit: u32): u32;
@external("k8s.io/scheduler", "result.status_reason")
declare function statusReason(buf: usize, len: u32): void;

const buffer = new ArrayBuffer(256);

function nodeName(): string {
  const length = currentNodeName(changetype<usize>(buffer), 256);
  return String.UTF8.decodeUnsafe(changetype<usize>(buffer), length);
}

export function filter(): i32 {
  const name = nodeName();
  if (name.startsWith("closed")) {
    const reason = String.UTF8.encode("node " + name + " is closed");
    statusReason(changetype<usize>(reason), reason.byteLength);
    return 2;
  }
  return 0;
}

export function score(): i64 {
  const parts = nodeName().split("-");
  if (parts.length < 2) throw new Error("a node without a number: " + parts[0]);
  return i64(parseInt(parts[1])) << 32;
}
