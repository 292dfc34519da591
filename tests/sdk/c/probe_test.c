#include "probe.c"

#include "kubewasp_test.h"

KW_TEST(state_of_trials_is_copied) {
    KWT_NODE(.name = "a");
    kwt_schedule(KWT_POD(.name = "web"));
    KW_EXPECT_INT(seen()->removed, 1);
    kwt_clone_state(1);
    kwt_select_state(1);
    kwt_remove_pod(KWT_POD(.name = "old"), "a");
    KW_EXPECT_INT(seen()->removed, 2);
    kwt_clone_state(2);
    kwt_select_state(2);
    kwt_add_pod(KWT_POD(.name = "old"), "a");
    KW_EXPECT_INT(seen()->removed, 1);
    kwt_drop_state(2);
    kwt_select_state(0);
    KW_EXPECT_INT(seen()->removed, 1);
    kwt_schedule(KWT_POD(.name = "next"));
    KW_EXPECT_INT(seen()->removed, 1);
}

KW_TEST(the_fake_host_answers_all_hooks) {
    KWT_NODE(.name = "a", .labels = "zone=east", .resources = "nvidia.com/gpu=2");
    KWT_NODE(.name = "bb", .resources = "nvidia.com/gpu=1");
    KWT_NODE(.name = "tainted", .taints = "key=value:NoSchedule");
    KWT_PLACED(.name = "old", .cpu = 500, .resources = "nvidia.com/gpu=1", .node = "a");
    kwt_result result = kwt_schedule(KWT_POD(.name = "web", .resources = "nvidia.com/gpu=1"));
    KW_EXPECT_TEXT(result.node, "a");
    KW_EXPECT_TEXT(kwt_rejected("tainted"), "key=value:NoSchedule, 100%");
    KW_EXPECT_INT(kwt_score("a"), 100);
    KW_EXPECT_INT(kwt_score("bb"), 40);
    KW_EXPECT_TEXT(kwt_annotation("example.com/row"), "0");
    KW_EXPECT_TEXT(kwt_log(), "scoring first=a label=zone\n");
    KW_EXPECT(strstr(kwt_events(), "\"Note\":\"on \\\"a\\\"\"") != 0);
    result = kwt_schedule(KWT_POD(.name = "more", .resources = "nvidia.com/gpu=2"));
    KW_EXPECT_TEXT(result.node, "");
    KW_EXPECT_TEXT(kwt_rejected("a"), "0 of 2 GPUs are free, 2 wanted");
    KW_EXPECT_TEXT(result.reason, "3 nodes were rejected");
}

KW_TEST(values_of_a_node_are_computed_once) {
    KWT_NODE(.name = "a");
    kwt_schedule(KWT_POD(.name = "one"));
    kwt_schedule(KWT_POD(.name = "two"));
    KW_EXPECT_INT(computed, 1);
}

KW_TEST(a_selection_of_nodes_is_kept_to) {
    KWT_NODE(.name = "a");
    KWT_NODE(.name = "b");
    KW_EXPECT_TEXT(kwt_schedule(KWT_POD(.name = "web", .annotations = "only=b")).node, "b");
}

KW_TEST(a_waiting_pod_has_its_time) {
    KWT_NODE(.name = "a");
    kwt_result result = kwt_schedule(KWT_POD(.name = "web", .annotations = "wait=yes"));
    KW_EXPECT(result.is_waiting);
    KW_EXPECT_INT(result.timeout, 30000);
    kw_fields_iterator waiting = kw_waiting_pods();
    kw_pod pod;
    KW_EXPECT(kw_next_pod(&waiting, &pod));
    KW_EXPECT(kw_equal(kw_pod_node_name(&pod), "a"));
    KW_EXPECT(kw_allow_waiting_pod(kw_pod_uid(&pod)));
    KW_EXPECT(!kw_allow_waiting_pod(kw_str("web")));
}

KW_TEST(quantities_are_those_of_kubernetes) {
    KW_EXPECT_INT(kw_quantity_(kw_str("1.5"), true), 1500);
    KW_EXPECT_INT(kw_quantity_(kw_str("250m"), true), 250);
    KW_EXPECT_INT(kw_quantity_(kw_str("1Gi"), false), 1ll << 30);
    KW_EXPECT_INT(kw_quantity_(kw_str("2k"), false), 2000);
    KW_EXPECT_INT(kw_quantity_(kw_str("1e3"), false), 1000);
    KW_EXPECT_INT(kw_quantity_(kw_str("1500m"), false), 2);
    KW_EXPECT_INT(kw_quantity_(kw_str("100E"), false), INT64_MAX);
}

KW_TEST(configurations_are_checked) {
    KW_EXPECT_TEXT(kwt_load("{\"most\": 5, \"label\": \"a\\u00e4\\ud83d\\ude00\\n\"}"), 0);
    KW_EXPECT_INT(config.most, 5);
    KW_EXPECT(kw_equal(config.label, "aä😀\n"));
    KW_EXPECT_TEXT(kwt_load(" \n"), 0);
    KW_EXPECT_TEXT(kwt_load("{\"most\": 1.5}"), "config: most: expected an integer, got another number");
    KW_EXPECT_TEXT(kwt_load("{\"most\": 99999999999999999999}"), "config: most: expected an integer, got another number");
    KW_EXPECT_TEXT(kwt_load("{\"label\": [1]}"), "config: label: expected a text, got a list");
    KW_EXPECT_TEXT(kwt_load("[]"), "config: expected an object");
    KW_EXPECT_TEXT(kwt_load("{} {}"), "config: more than one value");
    KW_EXPECT_TEXT(kwt_load("{\"label\": \"x"), "config: the JSON is cut off");
    KW_EXPECT_TEXT(kwt_load("{\"label\" 1}"), "config: the JSON is not valid");
    KW_EXPECT_TEXT(kwt_load("{\"label\": \"\\x\"}"), "config: the JSON is not valid");
}

KW_TEST(damaged_messages_have_no_fields) {
    static const char damaged[] = "\x0a\xff\xff\xff\xff\x0f";
    KW_EXPECT_INT(kw_field((kw_text){damaged, 6}, 1).len, 0);
    KW_EXPECT_INT(kw_field((kw_text){"\x0b\x01", 2}, 1).len, 0);
    KW_EXPECT_INT(kw_field((kw_text){"\x80", 1}, 1).len, 0);
}

KW_TEST(keys_sort_as_their_parts) {
    kw_key low = {.len = 0}, high = {.len = 0};
    kw_key_int(&low, -5);
    kw_key_int(&high, 3);
    KW_EXPECT(memcmp(low.bytes, high.bytes, 8) < 0);
    kw_key_int_desc(&low, 3);
    kw_key_int_desc(&high, -5);
    KW_EXPECT(memcmp(low.bytes + 8, high.bytes + 8, 8) < 0);
}

KW_TEST(texts_are_cut_between_characters) {
    static char longest[2000];
    for (int i = 0; i < 1999; i += 2) memcpy(longest + i, "ä", 2);
    longest[1998] = 0;
    kw_text cut = kw_format("x%s", longest);
    KW_EXPECT_INT(cut.len, 1023);
}
