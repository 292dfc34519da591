// label-cpu: reads a label and the requested CPU of every node.
#include "kubewasp.h"

KW_SCORE(pod, node, score) {
    *score = kw_node_requested(node, KW_CPU) % 49;
    if (kw_equal(kw_node_label(node, "topology.kubernetes.io/zone"), "eu-west-1a"))
        *score += 50;
    return kw_success();
}
