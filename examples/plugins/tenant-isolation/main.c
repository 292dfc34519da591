// tenant-isolation: a scheduler plugin that keeps the pods of one tenant on nodes of their own.
#include "kubewasp.h"

// The plugin's configuration: guestConfig, as JSON.
static kw_text system_only[] = {KW_TEXT("kube-system")};

static struct config {
    kw_text label;   // label of pods with the name of their tenant
    kw_texts shared; // namespaces whose pods run beside all tenants
    bool strict;     // pods without a tenant share no node with tenants either
} config = {.label = KW_TEXT("tenant"), .shared = {system_only, 1}};

static const kw_setting settings[] = {
    {"label", KW_STRING, &config.label},
    {"shared", KW_STRINGS, &config.shared},
    {"strict", KW_BOOL, &config.strict},
};

KW_START() {
    if (kw_read_config(settings, 3) != KW_SUCCESS)
        return KW_ERROR;
    return config.label.len ? kw_success() : kw_failed("config: label must not be empty");
}

// The tenant of a pod; empty without one.
static kw_text tenant_of(kw_pod *pod) {
    kw_text tenant = {"", 0};
    kw_map_find(kw_pod_labels(pod), config.label, &tenant);
    return tenant;
}

static bool is_shared(kw_pod *pod) { return kw_index(config.shared, kw_pod_namespace(pod)) >= 0; }

// Pods that run beside all tenants need no filter and no score.
KW_PRE_FILTER(pod) {
    bool is_free = is_shared(pod) || (!config.strict && !tenant_of(pod).len);
    return is_free ? kw_skip() : kw_success();
}

// Rejects nodes with pods of another tenant. Preemption may help: in a trial, victims are not on the node.
KW_FILTER(pod, node) {
    kw_text own = tenant_of(pod);
    kw_fields_iterator pods = kw_node_pods(node);
    for (kw_pod other; kw_next_pod(&pods, &other);) {
        kw_text tenant = tenant_of(&other);
        if (is_shared(&other) || kw_same(tenant, own) || (!tenant.len && !config.strict))
            continue;
        kw_hint("a node without pods of tenant %t", tenant);
        return tenant.len ? kw_unschedulable("node runs pods of tenant %t", tenant)
                          : kw_unschedulable("node runs pods without a tenant");
    }
    return kw_success();
}

// Prefers nodes that the tenant already uses: other nodes stay free for other tenants.
KW_SCORE(pod, node, score) {
    kw_text own = tenant_of(pod);
    if (is_shared(pod) || !own.len)
        return kw_success();
    kw_fields_iterator pods = kw_node_pods(node);
    for (kw_pod other; kw_next_pod(&pods, &other);) {
        if (kw_same(tenant_of(&other), own)) {
            *score = KW_MAX_SCORE;
            break;
        }
    }
    return kw_success();
}
