#include "main.c"

#include "kubewasp_test.h"

static void add_nodes(void) {
    KWT_NODE(.name = "node-1");
    KWT_NODE(.name = "node-12");
    KWT_NODE(.name = "node-3");
    KWT_NODE(.name = "spare");
}

static void expect_scores(int64_t one, int64_t twelve, int64_t three, int64_t spare) {
    KW_EXPECT_INT(kwt_score("node-1"), one);
    KW_EXPECT_INT(kwt_score("node-12"), twelve);
    KW_EXPECT_INT(kwt_score("node-3"), three);
    KW_EXPECT_INT(kwt_score("spare"), spare);
}

KW_TEST(the_node_with_the_pods_number_scores) {
    add_nodes();
    kwt_schedule(KWT_POD(.name = "web-3"));
    expect_scores(0, 0, 10, 0);
}

KW_TEST(only_the_last_digit_counts) {
    add_nodes();
    kwt_schedule(KWT_POD(.name = "web-42"));
    expect_scores(0, 10, 0, 0);
}

KW_TEST(reverse_prefers_other_numbers) {
    add_nodes();
    kwt_load("{\"reverse\": true}");
    kwt_schedule(KWT_POD(.name = "web-3"));
    expect_scores(10, 10, 0, 0);
}

KW_TEST(a_pod_without_a_number_has_no_preference) {
    add_nodes();
    kwt_load("{\"reverse\": true}");
    kwt_schedule(KWT_POD(.name = "web-3a"));
    expect_scores(0, 0, 0, 0);
}

KW_TEST(a_reserved_number_is_closed_to_all_pods) {
    add_nodes();
    kwt_load("{\"reserved\": 3}");
    kwt_schedule(KWT_POD(.name = "web-3"));
    KW_EXPECT_TEXT(kwt_rejected("node-3"), "node number 3 is reserved");
    KW_EXPECT_TEXT(kwt_rejected("node-1"), "");
}

KW_TEST(pods_with_the_same_digit_have_the_same_signature) {
    KW_EXPECT(kwt_signature(KWT_POD(.name = "web-3")) == kwt_signature(KWT_POD(.name = "db-13")));
    KW_EXPECT(kwt_signature(KWT_POD(.name = "web-3")) != kwt_signature(KWT_POD(.name = "web-30")));
    KW_EXPECT(kwt_signature(KWT_POD(.name = "web-0")) != kwt_signature(KWT_POD(.name = "web")));
}

KW_TEST(a_bad_configuration_is_refused) {
    KW_EXPECT_TEXT(kwt_load("{\"reserved\": 10}"), "config: reserved must be a digit, 0 to 9, not 10");
    KW_EXPECT_TEXT(kwt_load("{\"reserved\": -1}"), "config: reserved must be a digit, 0 to 9, not -1");
    KW_EXPECT_TEXT(kwt_load("{\"reverse\": 1}"), "config: reverse: expected true or false, got a number");
    KW_EXPECT_TEXT(kwt_load("{\"revers\": false}"), "config: unknown field \"revers\"");
    KW_EXPECT_TEXT(kwt_load("{"), "config: the JSON is cut off");
}
