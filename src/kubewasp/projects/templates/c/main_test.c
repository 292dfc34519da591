#include "main.c"

#include "kubewasp_test.h"

static void add_disks(void) {
    KWT_NODE(.name = "nvme-1", .labels = "disktype=nvme");
    KWT_NODE(.name = "ssd-1", .labels = "disktype=ssd");
    KWT_NODE(.name = "plain-1");
}

KW_TEST(the_best_disk_is_preferred) {
    add_disks();

    kwt_result result = kwt_schedule(KWT_POD(.name = "web"));

    KW_EXPECT_TEXT(result.node, "nvme-1");
    KW_EXPECT_INT(kwt_score("nvme-1"), 100);
    KW_EXPECT_INT(kwt_score("ssd-1"), 50);
    KW_EXPECT_INT(kwt_score("plain-1"), 0);
}

KW_TEST(closed_nodes_take_pods_of_kube_system_only) {
    add_disks();
    kwt_load("{\"closed\": [\"nvme\"]}");

    kwt_result web = kwt_schedule(KWT_POD(.name = "web"));
    KW_EXPECT_TEXT(web.node, "ssd-1");
    KW_EXPECT_TEXT(kwt_rejected("nvme-1"), "nodes with disktype=nvme are closed");

    kwt_result agent = kwt_schedule(KWT_POD(.name = "agent", .ns = "kube-system"));
    KW_EXPECT_TEXT(agent.node, "nvme-1");
}

KW_TEST(a_bad_configuration_is_refused) {
    KW_EXPECT_TEXT(kwt_load("{\"label\": \"\"}"), "config: label must not be empty");
    KW_EXPECT_TEXT(kwt_load("{\"lable\": \"disktype\"}"), "config: unknown field \"lable\"");
    KW_EXPECT_TEXT(kwt_load("{"), "config: the JSON is cut off");
}
