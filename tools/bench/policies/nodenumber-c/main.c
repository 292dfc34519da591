// nodenumber: 10 points for a node whose name ends in the same digit as the pod's name; no pods are signed.
#include "kubewasp.h"

enum { NO_DIGIT = -1 };

static int wanted;

static int last_digit(kw_text name) {
    char last = name.len ? name.at[name.len - 1] : 0;
    return last >= '0' && last <= '9' ? last - '0' : NO_DIGIT;
}

KW_PRE_SCORE(pod, nodes) {
    wanted = last_digit(kw_pod_name(pod));
    return kw_success();
}

KW_SCORE(pod, node, score) {
    int digit = last_digit(kw_node_name(node));
    if (digit != NO_DIGIT && digit == wanted)
        *score = 10;
    return kw_success();
}
