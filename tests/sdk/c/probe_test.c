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

KW_TEST(quantities_are_those_of_the_scheduler) {
    FILE *table = fopen("../data/quantities.txt", "r");
    char text[101];
    long long value, milli;
    int count = 0;
    while (table && fscanf(table, "%100s %lld %lld", text, &value, &milli) == 3) {
        bool is_right = kw_quantity_(kw_str(text), false) == value && kw_quantity_(kw_str(text), true) == milli;
        if (!is_right) printf("%s\n", text);
        KW_EXPECT(is_right);
        count++;
    }
    KW_EXPECT(count > 400);
    const char *wrong[] = {"", "x", "1x", "1.2.3", "e3", "1e", "1e+", "--1", "1 ", "Ki", "1kI", "."};
    for (int i = 0; i < 12; i++) KW_EXPECT_INT(kw_quantity_(kw_str(wrong[i]), false), 0);
}

KW_TEST(sums_of_requests_stay_in_range) {
    KW_EXPECT_INT(kw_sum_(INT64_MAX, 1), INT64_MAX);
    KW_EXPECT_INT(kw_sum_(INT64_MIN, -1), INT64_MIN);
    KW_EXPECT_INT(kw_sum_(2, -5), -3);
}

KW_TEST(a_guest_may_have_many_resources) {
    static char names[100][32];
    kw_resource last = KW_CPU;
    for (int i = 0; i < 100; i++) {
        snprintf(names[i], sizeof names[i], "example.com/r%d", i);
        KWT_NODE(.name = names[i], .resources = "example.com/r99=7");
        last = kw_resource_of(names[i]);
    }
    kw_node node;
    KW_EXPECT(kw_node_at(3, &node));
    KW_EXPECT_INT(kw_node_allocatable(&node, last), 7);
    KW_EXPECT_INT(kw_node_allocatable(&node, KW_CPU), 8000);
    kwt_begin_(KWT_POD(.name = "web", .cpu = 5, .resources = "example.com/r99=3"));
    KW_EXPECT_INT(kw_pod_request(kw_current_pod(), last), 3);
    KW_EXPECT_INT(kw_pod_request(kw_current_pod(), KW_CPU), 5);
}

KW_TEST(formats_have_all_integers) {
    KW_EXPECT(kw_equal(kw_format("%c %d %u %ld %lu %lld %llu %%", 'x', -1, 2u, -3l, 4ul, -5ll, 6ull), "x -1 2 -3 4 -5 6 %"));
}

KW_TEST(an_unknown_format_ends_the_formatting) {
    KW_EXPECT(kw_equal(kw_format("%d: %x %s", 1, 2, "text"), "1: %x %s"));
    KW_EXPECT(kw_equal(kw_format("100%"), "100%"));
    KW_EXPECT(kw_equal(kw_format("%ls", "text"), "%ls"));
}

KW_TEST(a_formatted_text_may_be_part_of_the_next) {
    KW_EXPECT(kw_equal(kw_format("<%t and %t>", kw_format("one"), kw_str("two")), "<one and two>"));
}

KW_TEST(configurations_may_have_many_texts) {
    static char text[40000];
    kw_texts list = {0, 0};
    strcpy(text, "{\"list\": [\"\\\"\\u00e4\\\\\"");
    for (int i = 0; i < 1000; i++) sprintf(text + strlen(text), ", \"text %d\"", i);
    strcat(text, "]}");
    kwt_.config = text;
    KW_EXPECT_INT(kw_read_config((kw_setting[]){{"list", KW_STRINGS, &list}}, 1), KW_SUCCESS);
    KW_EXPECT_INT(list.count, 1001);
    KW_EXPECT(kw_equal(list.at[0], "\"ä\\"));
    KW_EXPECT(kw_equal(list.at[1000], "text 999"));
    KW_EXPECT(kwt_allocated_ < 100000); /* not each text as long as all */
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
    memcpy(longest + 1022, "ä", 3);
    KW_EXPECT_INT(kw_format("%s", longest).len, 1024); /* whole */
    memcpy(longest + 1021, "😀", 5);
    KW_EXPECT_INT(kw_format("%s", longest).len, 1021);
}
