;; Records one event about a pod, related to a node.
(module
  (import "k8s.io/scheduler" "handle.eventrecorder.eventf" (func $eventf (param i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0)
    "{\"RegardingReference\":{\"Kind\":\"Pod\",\"APIVersion\":\"v1\",\"Name\":\"pod-1\",\"Namespace\":\"default\","
    "\"UID\":\"uid-1\",\"ResourceVersion\":\"1\"},"
    "\"RelatedReference\":{\"Kind\":\"Node\",\"APIVersion\":\"v1\",\"Name\":\"node-1\",\"Namespace\":\"\","
    "\"UID\":\"\",\"ResourceVersion\":\"\"},"
    "\"Eventtype\":\"Normal\",\"Reason\":\"Considered\",\"Action\":\"Filter\",\"Note\":\"looked at node-1\"}")
  (func (export "filter") (result i32)
    (call $eventf (i32.const 0) (i32.const 329))
    (i32.const 0)))
