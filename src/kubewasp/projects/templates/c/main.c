// plugin-name: a scheduler plugin that prefers nodes by the value of a label, and rejects some of them.
#include "kubewasp.h"

// The plugin's configuration: guestConfig, as JSON.
static kw_text best[] = {KW_TEXT("nvme"), KW_TEXT("ssd")};

static struct config {
    kw_text label;   // node label
    kw_texts prefer; // preferred values of the label, best first
    kw_texts closed; // values of nodes that accept pods of kube-system only
} config = {.label = KW_TEXT("disktype"), .prefer = {best, 2}};

static const kw_setting settings[] = {
    {"label", KW_STRING, &config.label},
    {"prefer", KW_STRINGS, &config.prefer},
    {"closed", KW_STRINGS, &config.closed},
};

// Runs while the guest is loaded. A status other than Success refuses the configuration.
KW_START() {
    if (kw_read_config(settings, 3) != KW_SUCCESS)
        return KW_ERROR;
    // The results depend on the pod, the configuration and one node with its pods: the scheduler asks again only about nodes
    // that have changed. Remove this line if the plugin looks at other nodes, the time, or variables that hooks change.
    kw_declare_pure();
    // The best of the nodes gets 100, the others a share of it.
    kw_normalize_scores(KW_PROPORTIONAL, false, KW_MAX_SCORE);
    return config.label.len ? kw_success() : kw_failed("config: label must not be empty");
}

static kw_text value_of(kw_node *node) {
    kw_text value = {"", 0};
    kw_map_find(kw_node_labels(node), config.label, &value);
    return value;
}

// Rejects closed nodes, except for pods of kube-system.
KW_FILTER(pod, node) {
    kw_text value = value_of(node);
    if (kw_index(config.closed, value) >= 0 && !kw_equal(kw_pod_namespace(pod), "kube-system"))
        return kw_unresolvable("nodes with %t=%t are closed", config.label, value);
    return kw_success();
}

// Rates the node by the position of its label value in the list.
KW_SCORE(pod, node, score) {
    int32_t place = kw_index(config.prefer, value_of(node));
    if (place >= 0)
        *score = config.prefer.count - place;
    return kw_success();
}
