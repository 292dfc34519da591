// filter-reasons: rejects closed nodes and nodes with little free CPU, with a reason for each.
#include "kubewasp.h"

KW_FILTER(pod, node) {
    if (kw_equal(kw_node_label(node, "kubewasp.dev/closed"), "true"))
        return kw_unresolvable("node is closed to new pods");
    if (5 * kw_node_requested(node, KW_CPU) > 4 * kw_node_allocatable(node, KW_CPU))
        return kw_unschedulable("node has less than 20 %% of its CPU left");
    return kw_success();
}
