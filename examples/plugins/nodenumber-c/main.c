// nodenumber-c: a scheduler plugin that prefers the node with the pod's number. web-3 prefers node-3.
#include "kubewasp.h"

enum { POINTS = 10, NO_DIGIT = -1 };

// The plugin's configuration: guestConfig, as JSON.
static struct config {
    bool reverse;     // prefer nodes with another number instead
    int64_t reserved; // nodes with this number accept no pods
} config = {.reserved = NO_DIGIT};

static const kw_setting settings[] = {
    {"reverse", KW_BOOL, &config.reverse},
    {"reserved", KW_INT, &config.reserved},
};

// The pod's digit, read once per cycle and not once per node.
static int wanted;

// The digit at the end of the name, or NO_DIGIT.
static int last_digit(kw_text name) {
    char last = name.len ? name.at[name.len - 1] : 0;
    return last >= '0' && last <= '9' ? last - '0' : NO_DIGIT;
}

KW_START() {
    config.reserved = INT64_MAX; // not set
    if (kw_read_config(settings, 2) != KW_SUCCESS)
        return KW_ERROR;
    if (config.reserved == INT64_MAX)
        config.reserved = NO_DIGIT;
    else if (config.reserved < 0 || config.reserved > 9)
        return kw_failed("config: reserved must be a digit, 0 to 9, not %lld", (long long)config.reserved);
    return kw_success();
}

// Pods with the same digit share the results for a node until the node changes.
KW_SIGN_POD(pod) {
    return kw_hash_int(KW_HASH, last_digit(kw_pod_name(pod)));
}

KW_FILTER(pod, node) {
    if (config.reserved != NO_DIGIT && last_digit(kw_node_name(node)) == config.reserved)
        return kw_unschedulable("node number %d is reserved", (int)config.reserved);
    return kw_success();
}

KW_PRE_SCORE(pod, nodes) {
    wanted = last_digit(kw_pod_name(pod));
    return kw_success();
}

KW_SCORE(pod, node, score) {
    int digit = last_digit(kw_node_name(node));
    if (wanted != NO_DIGIT && digit != NO_DIGIT && (wanted == digit) != config.reverse)
        *score = POINTS;
    return kw_success();
}
