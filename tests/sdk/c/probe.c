// A plugin that uses the whole SDK. What each hook sees is in its reason, its log lines or its events.
#include "kubewasp.h"

static struct {
    int64_t most;
    kw_text label;
} config = {.most = 3, .label = KW_TEXT("zone")};

static const kw_setting settings[] = {{"most", KW_INT, &config.most}, {"label", KW_STRING, &config.label}};

static kw_resource gpu;
static kw_node_cache lengths;
static int computed;

struct seen {
    int64_t removed;
};
KW_CYCLE_STATE(struct seen, seen)

KW_START() {
    gpu = kw_resource_of("nvidia.com/gpu");
    return kw_read_config(settings, 2);
}

KW_ENQUEUE() {
    kw_register_event(KW_EVENT_NODE, KW_ADD | KW_UPDATE_NODE_LABEL);
}

KW_PRE_ENQUEUE(pod) {
    return kw_pod_annotation(pod, "hold").len ? kw_unresolvable("held: %t", kw_pod_annotation(pod, "hold")) : kw_success();
}

KW_PRE_FILTER(pod) {
    seen()->removed++;
    kw_text only = kw_pod_annotation(pod, "only");
    if (only.len)
        kw_select_node(only);
    return kw_success();
}

KW_ADD_POD(pod, other, node) {
    seen()->removed--;
    return kw_success();
}

KW_REMOVE_POD(pod, other, node) {
    seen()->removed++;
    return kw_success();
}

static int64_t name_length(kw_node *node) {
    computed++;
    return kw_node_name(node).len;
}

KW_FILTER(pod, node) {
    if (kw_equal(kw_node_name(node), "tainted")) {
        kw_fields_iterator taints = kw_node_taints(node);
        kw_taint taint;
        if (!kw_next_taint(&taints, &taint))
            return kw_failed("no taint");
        kw_fields_iterator tolerations = kw_pod_tolerations(pod);
        for (kw_taint item; kw_next_toleration(&tolerations, &item);)
            if (kw_tolerates(&item, &taint))
                return kw_success();
        kw_hint("a toleration of %t", taint.key);
        return kw_unschedulable("%t=%t:%t, 100%%", taint.key, taint.value, taint.effect);
    }
    if (kw_node_unschedulable(node))
        return kw_unresolvable("cordoned");
    if (kw_node_free(node, gpu) < kw_pod_request(pod, gpu))
        return kw_unschedulable("%lld of %lld GPUs are free, %lld wanted", (long long)kw_node_free(node, gpu),
                                (long long)kw_node_allocatable(node, gpu), (long long)kw_pod_request(pod, gpu));
    return kw_success();
}

KW_POST_FILTER(pod, statuses) {
    return kw_unschedulable("%u nodes were rejected", statuses->count);
}

KW_PRE_SCORE(pod, nodes) {
    kw_node first;
    if (!kw_nodes_count(nodes) || !kw_node_at(kw_nodes_row(nodes, 0), &first))
        return kw_failed("no nodes");
    kw_log_pairs(KW_INFO, "scoring", (kw_pair[]){{KW_TEXT("first"), kw_keep(kw_node_name(&first))}, {KW_TEXT("label"), config.label}}, 2);
    return kw_success();
}

KW_SCORE(pod, node, score) {
    int64_t pods = 0, cpu = 0;
    kw_fields_iterator on_node = kw_node_pods(node);
    for (kw_pod other; kw_next_pod(&on_node, &other);) {
        pods++;
        cpu += kw_pod_request(&other, KW_CPU);
    }
    if (pods != kw_node_pod_count(node) || cpu != kw_node_requested(node, KW_CPU))
        return kw_failed("%lld pods, %lld m; the node says %lld and %lld", (long long)pods, (long long)cpu,
                         (long long)kw_node_pod_count(node), (long long)kw_node_requested(node, KW_CPU));
    *score = kw_cached(&lengths, node, name_length) + (int64_t)kw_node_label(node, "zone").len;
    return kw_success();
}

KW_NORMALIZE_SCORE(pod, scores) {
    kw_normalize(scores, false);
    return kw_success();
}

KW_RESERVE(pod, node) {
    kw_event(kw_pod_reference(pod), "Normal", "Reserved", "Scheduling", "on \"%t\"", kw_node_name(node));
    kw_annotate(kw_str("example.com/row"), kw_format("%d", node->row));
    return kw_success();
}

KW_PERMIT(pod, node, timeout) {
    *timeout = 30000;
    return kw_pod_annotation(pod, "wait").len ? kw_wait("waits") : kw_success();
}

KW_SIGN_POD(pod) {
    if (!kw_pod_annotation(pod, "sign").len)
        return 0; // score depends on the pods on a node
    return kw_hash_text(KW_HASH, kw_pod_namespace(pod));
}
