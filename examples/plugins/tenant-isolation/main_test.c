#include "main.c"

#include "kubewasp_test.h"

static void add_nodes(void) {
    KWT_NODE(.name = "a");
    KWT_NODE(.name = "b");
    KWT_NODE(.name = "c");
    KWT_PLACED(.name = "red-1", .labels = "tenant=red", .node = "a");
    KWT_PLACED(.name = "blue-1", .labels = "tenant=blue", .node = "b");
    KWT_PLACED(.name = "agent", .ns = "kube-system", .node = "c");
}

KW_TEST(a_tenant_stays_on_its_own_nodes) {
    add_nodes();
    kwt_result result = kwt_schedule(KWT_POD(.name = "blue-2", .labels = "tenant=blue"));
    KW_EXPECT_TEXT(result.node, "b");
    KW_EXPECT_TEXT(kwt_rejected("a"), "node runs pods of tenant red");
    KW_EXPECT_INT(kwt_score("b"), 100);
    KW_EXPECT_INT(kwt_score("c"), 0);
}

KW_TEST(a_new_tenant_gets_a_node_without_tenants) {
    add_nodes();
    kwt_result result = kwt_schedule(KWT_POD(.name = "green-1", .labels = "tenant=green"));
    KW_EXPECT_TEXT(result.node, "c");
}

KW_TEST(a_tenant_without_a_node_is_rejected) {
    KWT_NODE(.name = "a");
    KWT_PLACED(.name = "red-1", .labels = "tenant=red", .node = "a");
    kwt_result result = kwt_schedule(KWT_POD(.name = "blue-1", .labels = "tenant=blue"));
    KW_EXPECT_TEXT(result.node, "");
    KW_EXPECT_INT(result.status, KW_UNSCHEDULABLE);
}

KW_TEST(shared_namespaces_run_everywhere) {
    add_nodes();
    kwt_schedule(KWT_POD(.name = "agent-2", .ns = "kube-system", .labels = "tenant=ops"));
    KW_EXPECT_TEXT(kwt_rejected("a"), "");
}

KW_TEST(pods_without_a_tenant_share_nodes_unless_strict) {
    add_nodes();
    kwt_result result = kwt_schedule(KWT_POD(.name = "web"));
    KW_EXPECT_TEXT(result.node, "a");
}

KW_TEST(strict_separates_pods_without_a_tenant) {
    add_nodes();
    kwt_load("{\"strict\": true, \"shared\": []}");
    kwt_result web = kwt_schedule(KWT_POD(.name = "web"));
    KW_EXPECT_TEXT(web.node, "c");
    kwt_schedule(KWT_POD(.name = "red-2", .labels = "tenant=red"));
    KW_EXPECT_TEXT(kwt_rejected("c"), "node runs pods without a tenant");
}

KW_TEST(another_label_may_name_the_tenant) {
    KWT_NODE(.name = "a");
    KWT_PLACED(.name = "red-1", .labels = "team=red", .node = "a");
    kwt_load("{\"label\": \"team\"}");
    kwt_schedule(KWT_POD(.name = "blue-1", .labels = "team=blue"));
    KW_EXPECT_TEXT(kwt_rejected("a"), "node runs pods of tenant red");
}

KW_TEST(a_label_is_required) {
    KW_EXPECT_TEXT(kwt_load("{\"label\": \"\"}"), "config: label must not be empty");
}
