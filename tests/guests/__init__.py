"""The numbers that steer the test guests. They follow the tables in the guests' sources; README.md explains them."""

# Bit i of the global `where` (all_hooks, misbehave) stands for HOOKS[i].
# Those beyond the classic contract that can be called by hand.
SINGLE_EXTENSION_HOOKS = ("preenqueue", "queuesort", "queueinghint")
EXTENSION_HOOKS = (*SINGLE_EXTENSION_HOOKS, "clonestate", "selectstate", "dropstate")
HOOKS = (
    "enqueue",
    "prefilter",
    "addpod",
    "removepod",
    "filter",
    "postfilter",
    "prescore",
    "score",
    "normalizescore",
    "reserve",
    "unreserve",
    "permit",
    "prebind",
    "bind",
    "postbind",
)
SINGLE_HOOKS = (*HOOKS, *SINGLE_EXTENSION_HOOKS)

# The global `which` of echo. "node" and "nodeImageStates" are asked for the current node.
GETTERS = (
    "currentPod",
    "currentNodeName",
    "node",
    "nodeList",
    "get_config",
    "targetPod",
    "filteredNodeList",
    "nodeToStatusMap",
    "nodeScoreList",
    "nodeImageStates",
)

# The global `which` of imports: module, function, number of parameters (taken from the globals a, b, c, d, e).
IMPORTS = (
    ("k8s.io/api", "node", 4),
    ("k8s.io/api", "nodeList", 2),
    ("k8s.io/scheduler", "get_config", 2),
    ("k8s.io/scheduler", "currentPod", 2),
    ("k8s.io/scheduler", "targetPod", 2),
    ("k8s.io/scheduler", "currentNodeName", 2),
    ("k8s.io/scheduler", "filteredNodeList", 2),
    ("k8s.io/scheduler", "nodeToStatusMap", 2),
    ("k8s.io/scheduler", "nodeScoreList", 2),
    ("k8s.io/scheduler", "nodeImageStates", 4),
    ("k8s.io/scheduler", "result.cluster_events", 2),
    ("k8s.io/scheduler", "result.node_names", 2),
    ("k8s.io/scheduler", "result.nominated_node_name", 2),
    ("k8s.io/scheduler", "result.status_reason", 2),
    ("k8s.io/scheduler", "result.normalized_score_list", 2),
    ("k8s.io/scheduler", "handle.eventrecorder.eventf", 2),
    ("k8s.io/scheduler", "handle.reject_waiting_pod", 4),
    ("k8s.io/scheduler", "handle.get_waiting_pod", 4),
    ("k8s.io/klog", "severity", 0),
    ("k8s.io/klog", "log", 3),
    ("k8s.io/klog", "logs", 5),
    ("wasi_snapshot_preview1", "fd_write", 4),
    ("wasi_snapshot_preview1", "random_get", 2),
    ("wasi_snapshot_preview1", "clock_time_get", 3),
    ("wasi_snapshot_preview1", "args_get", 2),
    ("wasi_snapshot_preview1", "poll_oneoff", 4),
)

# The global `what` of misbehave.
MISBEHAVIOURS = (
    "behave",
    "unreachable",
    "infinite loop",
    "stack overflow",
    "memory bomb",
    "out-of-bounds load",
    "reason of 1 GiB",
    "reason that is not UTF-8",
    "proc_exit(3)",
    "proc_exit(0)",
    "panic! on stderr, then unreachable",
    "prints forever",
    "logs forever",
    "records events forever",
    "targetPod in any hook",
    "event that is not JSON",
    "sleeps an hour",
    "null table entry",
    "divide by zero",
    "status 42",
    "reason with Success",
    "node names: unknown, and the last without NUL",
    "normalized scores that are not JSON",
    "normalized scores of an unknown node",
    "normalized scores without some nodes",
    "normalized score 1.5",
    "normalized scores null",
    "normalized score NaN",
    "cluster events of 7 bytes",
)
