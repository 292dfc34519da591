/* kubewasp_test.h: native unit tests of a plugin in C. Include the plugin, then this file, and write tests:
 *
 *     #include "main.c"
 *     #include "kubewasp_test.h"
 *
 *     KW_TEST(only_spot_nodes_are_used) {
 *         KWT_NODE(.name = "a", .labels = "lifecycle=spot");
 *         KWT_NODE(.name = "b");
 *         kwt_load("");
 *         kwt_result result = kwt_schedule(KWT_POD(.name = "web"));
 *         KW_EXPECT_TEXT(result.node, "a");
 *         KW_EXPECT_TEXT(kwt_rejected("b"), "node is no spot node");
 *     }
 *
 * `kubewasp plugin test` compiles and runs them. Each test is a process of its own: the plugin's variables are new, and a
 * crash or an endless loop fails one test. The host here is a fake that answers every import of kubewasp.h; a cycle runs
 * this plugin alone, in the order of the scheduler.
 */
#ifndef KUBEWASP_TEST_H
#define KUBEWASP_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kubewasp.h"

/* ------------------------------------------------------------------ cluster */

/* Maps and lists are texts: labels "disk=ssd,zone=a", resources "nvidia.com/gpu=8", taints "key=value:NoSchedule". */
typedef struct {
    const char *name, *labels, *annotations, *resources, *taints;
    int64_t cpu, memory, pods; /* allocatable; cpu in milli. Default: 8000, 32 GiB, 110 */
    bool unschedulable;
} kwt_node_spec;

typedef struct {
    const char *name, *ns, *uid, *labels, *annotations, *resources, *node_selector, *image;
    int64_t cpu, memory; /* requests */
    int32_t priority;
    const char *node; /* the node it is on, for KWT_PLACED */
} kwt_pod_spec;

#define KWT_NODE(...) kwt_add_node((kwt_node_spec){__VA_ARGS__})
#define KWT_POD(...) ((kwt_pod_spec){__VA_ARGS__})
/* A pod that is on a node already. */
#define KWT_PLACED(...) kwt_place((kwt_pod_spec){__VA_ARGS__})

/* Result of a cycle: the chosen node, empty if the pod has none; then status and reason of the hook that ended it. */
typedef struct {
    const char *node, *reason, *hook;
    kw_status status;
    bool is_waiting;
    uint32_t timeout; /* of permit, in ms */
} kwt_result;

static void kwt_add_node(kwt_node_spec node);
static void kwt_place(kwt_pod_spec pod);
/* Starts the plugin with a configuration; NULL, or the text with which it refuses. */
KW_UNUSED static const char *kwt_load(const char *config);
/* A whole cycle: the pod is placed on the first of the best nodes. */
KW_UNUSED static kwt_result kwt_schedule(kwt_pod_spec pod);
/* Of the last cycle: the reason of a rejected node, else ""; the score of a node, else -1; an annotation, else "". */
KW_UNUSED static const char *kwt_rejected(const char *node);
KW_UNUSED static int64_t kwt_score(const char *node);
KW_UNUSED static const char *kwt_annotation(const char *key);
KW_UNUSED static uint64_t kwt_signature(kwt_pod_spec pod);
KW_UNUSED static kw_status kwt_pre_enqueue(kwt_pod_spec pod);
/* Whether the queue has the first pod before the second. */
KW_UNUSED static bool kwt_before(kwt_pod_spec one, int64_t queued_at, kwt_pod_spec other, int64_t other_queued_at);
/* Everything logged, and all events as JSON, a line each. */
KW_UNUSED static const char *kwt_log(void);
KW_UNUSED static const char *kwt_events(void);
KW_UNUSED static const char *kwt_reason(void);
KW_UNUSED static void kwt_set_time(int64_t ns);
/* Preemption trials: a pod leaves or enters a node of the cycle at hand; states are copied, selected, dropped. */
KW_UNUSED static kw_status kwt_remove_pod(kwt_pod_spec other, const char *node);
KW_UNUSED static kw_status kwt_add_pod(kwt_pod_spec other, const char *node);
KW_UNUSED static void kwt_clone_state(int32_t number);
KW_UNUSED static void kwt_select_state(int32_t number);
KW_UNUSED static void kwt_drop_state(int32_t number);

/* ------------------------------------------------------------------ tests */

typedef struct {
    const char *name;
    void (*run)(void);
} kwt_test_;

enum { KWT_MOST_TESTS = 1024, KWT_SECONDS = 20 };
static kwt_test_ kwt_tests_[KWT_MOST_TESTS];
static int kwt_test_count_, kwt_failures_;

#define KW_TEST(name)                                                          \
    static void kwt_test_##name(void);                                         \
    __attribute__((constructor)) static void kwt_add_##name(void) {            \
        if (kwt_test_count_ < KWT_MOST_TESTS)                                  \
            kwt_tests_[kwt_test_count_++] = (kwt_test_){#name, kwt_test_##name}; \
    }                                                                          \
    static void kwt_test_##name(void)

#define KW_EXPECT(condition) \
    (void)((condition) || (printf("%s:%d: expected %s\n", __FILE__, __LINE__, #condition), kwt_failures_++))
#define KW_EXPECT_INT(got, want) kwt_expect_int_(__FILE__, __LINE__, #got, (long long)(got), (long long)(want))
#define KW_EXPECT_TEXT(got, want) kwt_expect_text_(__FILE__, __LINE__, #got, got, want)

KW_UNUSED static void kwt_expect_int_(const char *file, int line, const char *what, long long got, long long want) {
    if (got == want) return;
    printf("%s:%d: %s is %lld, want %lld\n", file, line, what, got, want);
    kwt_failures_++;
}

KW_UNUSED static void kwt_expect_text_(const char *file, int line, const char *what, const char *got, const char *want) {
    got = got ? got : "(none)";
    want = want ? want : "(none)";
    if (!strcmp(got, want)) return;
    printf("%s:%d: %s is \"%s\", want \"%s\"\n", file, line, what, got, want);
    kwt_failures_++;
}

/* Output: a line "=== RUN NAME", the output of the test, a line "--- PASS|FAIL NAME SECONDS". */
int main(int count, char **arguments) {
    int failed = 0;
    (void)count;
    (void)arguments;
    for (int i = 0; i < kwt_test_count_; i++) {
        printf("=== RUN %s\n", kwt_tests_[i].name);
        fflush(stdout);
        struct timespec began, ended;
        clock_gettime(CLOCK_MONOTONIC, &began);
        pid_t child = fork();
        if (child == 0) {
            dup2(1, 2);
            alarm(KWT_SECONDS);
            kwt_tests_[i].run();
            fflush(stdout);
            _exit(kwt_failures_ ? 1 : 0);
        }
        int status = 1;
        if (child < 0 || waitpid(child, &status, 0) < 0) status = 1;
        clock_gettime(CLOCK_MONOTONIC, &ended);
        double seconds = (double)(ended.tv_sec - began.tv_sec) + (double)(ended.tv_nsec - began.tv_nsec) / 1e9;
        if (WIFSIGNALED(status)) {
            if (WTERMSIG(status) == 14) printf("\nthe test took over %d s\n", KWT_SECONDS);
            else printf("\nthe test ended with signal %d: %s\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
        }
        bool passed = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        failed += !passed;
        printf("\n--- %s %s %.3f\n", passed ? "PASS" : "FAIL", kwt_tests_[i].name, seconds);
        fflush(stdout);
    }
    return failed ? 1 : 0;
}

/* ------------------------------------------------------------------ encoding */

typedef struct {
    char *at;
    uint32_t len, limit;
} kwt_bytes_;

static void kwt_put_(kwt_bytes_ *to, const void *from, uint32_t count) {
    if (to->len + count > to->limit) {
        to->limit = 2 * (to->len + count) + 64;
        to->at = realloc(to->at, to->limit);
    }
    if (count) memcpy(to->at + to->len, from, count);
    to->len += count;
}

static void kwt_put_varint_(kwt_bytes_ *to, uint64_t value) {
    for (; value >= 0x80; value >>= 7) kwt_put_(to, (uint8_t[]){(uint8_t)(value | 0x80)}, 1);
    kwt_put_(to, (uint8_t[]){(uint8_t)value}, 1);
}

static void kwt_put_bytes_(kwt_bytes_ *to, uint32_t number, const void *from, uint32_t count) {
    kwt_put_varint_(to, number << 3 | 2);
    kwt_put_varint_(to, count);
    kwt_put_(to, from, count);
}

static void kwt_put_text_(kwt_bytes_ *to, uint32_t number, const char *text) {
    if (text && *text) kwt_put_bytes_(to, number, text, (uint32_t)strlen(text));
}

static void kwt_put_int_(kwt_bytes_ *to, uint32_t number, int64_t value) {
    kwt_put_varint_(to, number << 3);
    kwt_put_varint_(to, (uint64_t)value);
}

static void kwt_put_message_(kwt_bytes_ *to, uint32_t number, kwt_bytes_ *message) {
    kwt_put_bytes_(to, number, message->at, message->len);
    free(message->at);
    *message = (kwt_bytes_){0, 0, 0};
}

/* The next part of "key=value,key=value": false at the end. */
static bool kwt_next_pair_(const char **rest, char *key, char *value, uint32_t limit) {
    if (!*rest || !**rest) return false;
    uint32_t len = (uint32_t)strcspn(*rest, ",");
    uint32_t split = (uint32_t)strcspn(*rest, "=");
    if (split > len) split = len;
    snprintf(key, limit, "%.*s", (int)split, *rest);
    snprintf(value, limit, "%.*s", split < len ? (int)(len - split - 1) : 0, split < len ? *rest + split + 1 : "");
    *rest += len + ((*rest)[len] == ',');
    return true;
}

static void kwt_put_map_(kwt_bytes_ *to, uint32_t number, const char *pairs) {
    char key[512], value[512];
    while (kwt_next_pair_(&pairs, key, value, sizeof key)) {
        kwt_bytes_ entry = {0, 0, 0};
        kwt_put_text_(&entry, 1, key);
        kwt_put_text_(&entry, 2, value);
        kwt_put_message_(to, number, &entry);
    }
}

static void kwt_put_quantity_(kwt_bytes_ *to, uint32_t number, const char *name, int64_t value, const char *suffix) {
    char text[64];
    kwt_bytes_ quantity = {0, 0, 0}, entry = {0, 0, 0};
    snprintf(text, sizeof text, "%lld%s", (long long)value, suffix);
    kwt_put_text_(&quantity, 1, text);
    kwt_put_text_(&entry, 1, name);
    kwt_put_message_(&entry, 2, &quantity);
    kwt_put_message_(to, number, &entry);
}

static void kwt_put_quantities_(kwt_bytes_ *to, uint32_t number, int64_t cpu, int64_t memory, const char *resources) {
    char key[512], value[512];
    if (cpu) kwt_put_quantity_(to, number, "cpu", cpu, "m");
    if (memory) kwt_put_quantity_(to, number, "memory", memory, "");
    while (kwt_next_pair_(&resources, key, value, sizeof key)) kwt_put_quantity_(to, number, key, atoll(value), "");
}

static int64_t kwt_amount_(const char *resources, const char *name) {
    char key[512], value[512];
    while (kwt_next_pair_(&resources, key, value, sizeof key)) {
        if (!strcmp(key, name)) return atoll(value);
    }
    return 0;
}

static kwt_bytes_ kwt_encode_pod_(const kwt_pod_spec *pod) {
    kwt_bytes_ made = {0, 0, 0}, metadata = {0, 0, 0}, spec = {0, 0, 0}, container = {0, 0, 0}, resources = {0, 0, 0};
    kwt_put_text_(&metadata, 1, pod->name);
    kwt_put_text_(&metadata, 3, pod->ns ? pod->ns : "default");
    kwt_put_text_(&metadata, 5, pod->uid ? pod->uid : pod->name);
    kwt_put_map_(&metadata, 11, pod->labels);
    kwt_put_map_(&metadata, 12, pod->annotations);
    kwt_put_quantities_(&resources, 2, pod->cpu, pod->memory, pod->resources);
    kwt_put_text_(&container, 1, "main");
    kwt_put_text_(&container, 2, pod->image ? pod->image : "image");
    kwt_put_message_(&container, 8, &resources);
    kwt_put_message_(&spec, 2, &container);
    kwt_put_map_(&spec, 7, pod->node_selector);
    kwt_put_text_(&spec, 10, pod->node);
    kwt_put_int_(&spec, 25, pod->priority);
    kwt_put_message_(&made, 1, &metadata);
    kwt_put_message_(&made, 2, &spec);
    kwt_put_bytes_(&made, 3, "", 0);
    return made;
}

static kwt_bytes_ kwt_encode_node_(const kwt_node_spec *node) {
    kwt_bytes_ made = {0, 0, 0}, metadata = {0, 0, 0}, spec = {0, 0, 0}, status = {0, 0, 0};
    kwt_put_text_(&metadata, 1, node->name);
    kwt_put_text_(&metadata, 5, node->name);
    kwt_put_map_(&metadata, 11, node->labels);
    kwt_put_map_(&metadata, 12, node->annotations);
    if (node->unschedulable) kwt_put_int_(&spec, 4, 1);
    char key[512], value[512];
    for (const char *rest = node->taints; kwt_next_pair_(&rest, key, value, sizeof key);) {
        kwt_bytes_ taint = {0, 0, 0};
        char *effect = strchr(*value ? value : key, ':');
        if (effect) *effect++ = 0;
        kwt_put_text_(&taint, 1, key);
        kwt_put_text_(&taint, 2, value);
        kwt_put_text_(&taint, 3, effect ? effect : "NoSchedule");
        kwt_put_message_(&spec, 5, &taint);
    }
    kwt_put_quantities_(&status, 2, node->cpu, node->memory, node->resources);
    kwt_put_message_(&made, 1, &metadata);
    kwt_put_message_(&made, 2, &spec);
    kwt_put_message_(&made, 3, &status);
    return made;
}

/* ------------------------------------------------------------------ fake host */

enum { KWT_MOST = 4096, KWT_RESOURCES = 1024 };
enum { KWT_RESERVE = 9, KWT_PRE_BIND = 12 };

typedef struct {
    kwt_node_spec spec;
    kwt_bytes_ object;
    int64_t generation;
    bool is_feasible;
    int64_t score;
    char reason[KW_LONGEST_TEXT + 1];
} kwt_node_;

kw_any_hook kw_native_hooks[32];

static struct {
    kwt_node_ nodes[KWT_MOST];
    int32_t node_count;
    kwt_pod_spec placed[KWT_MOST], waiting[KWT_MOST];
    int32_t placed_count, waiting_count;
    const char *config;
    kwt_pod_spec pod_spec;
    kwt_bytes_ pod, target, list;
    int32_t row, cycle, state, hook;
    int64_t now, queued_at, generation;
    char reason[KW_LONGEST_TEXT + 1], hint[KW_LONGEST_TEXT + 1], refusal[KW_LONGEST_TEXT + 1];
    char nominated[512];
    kwt_bytes_ log, events, names, key, annotations;
    int64_t sent_scores[KWT_MOST];
    bool has_sent_scores, is_signed, is_reverse;
    kw_normalization normalization; /* declared */
    int32_t maximum;
    char resources[KWT_RESOURCES][256];
    int32_t resource_count;
} kwt_ = {.row = -1, .resources = {"cpu", "memory", "ephemeral-storage", "pods"}, .resource_count = 4};

static uint32_t kwt_give_(const void *from, uint32_t count, void *buf, uint32_t limit) {
    if (count && count <= limit) memcpy(buf, from, count);
    return count;
}

static void kwt_keep_text_(char *to, const void *from, uint32_t count) {
    if (count > KW_LONGEST_TEXT) count = KW_LONGEST_TEXT;
    if (count) memcpy(to, from, count);
    to[count] = 0;
}

static int32_t kwt_row_(const char *name) {
    for (int32_t row = 0; row < kwt_.node_count; row++) {
        if (!strcmp(kwt_.nodes[row].spec.name, name)) return row;
    }
    return -1;
}

static int64_t kwt_request_(const kwt_pod_spec *pod, int32_t id) {
    if (id == 0) return pod->cpu;
    if (id == 1) return pod->memory;
    return id == 3 ? 1 : kwt_amount_(pod->resources, kwt_.resources[id]);
}

static int64_t kwt_allocatable_(const kwt_node_spec *node, int32_t id) {
    if (id == 0) return node->cpu;
    if (id == 1) return node->memory;
    return id == 3 ? node->pods : kwt_amount_(node->resources, kwt_.resources[id]);
}

static int64_t kwt_sum_(int32_t row, int32_t id, bool non_zero) {
    int64_t sum = 0;
    for (int32_t i = 0; i < kwt_.placed_count; i++) {
        if (strcmp(kwt_.placed[i].node, kwt_.nodes[row].spec.name)) continue;
        int64_t request = kwt_request_(&kwt_.placed[i], id);
        sum += request || !non_zero ? request : id == 0 ? 100 : 200ll << 20;
    }
    return sum;
}

static uint32_t kwt_give_pods_(const kwt_pod_spec *pods, int32_t count, const char *node, void *buf, uint32_t limit) {
    kwt_.list.len = 0;
    for (int32_t i = 0; i < count; i++) {
        if (node && strcmp(pods[i].node, node)) continue;
        kwt_bytes_ pod = kwt_encode_pod_(&pods[i]);
        kwt_put_message_(&kwt_.list, 2, &pod);
    }
    return kwt_give_(kwt_.list.at, kwt_.list.len, buf, limit);
}

static uint64_t kwt_allocated_;
void *kw_host_alloc(uint32_t size) {
    kwt_allocated_ += size;
    return calloc(1, size ? size : 1);
}
void kw_host_refuse(const char *text, uint32_t len) { kwt_keep_text_(kwt_.refusal, text, len); }
uint32_t kw_host_config(void *buf, uint32_t limit) {
    return kwt_give_(kwt_.config, (uint32_t)strlen(kwt_.config), buf, limit);
}
uint32_t kw_host_current_pod(void *buf, uint32_t limit) { return kwt_give_(kwt_.pod.at, kwt_.pod.len, buf, limit); }
uint32_t kw_host_target_pod(void *buf, uint32_t limit) {
    return kwt_give_(kwt_.target.at, kwt_.target.len, buf, limit);
}
uint32_t kw_host_node_name(int32_t row, void *buf, uint32_t limit) {
    if (row < 0 || row >= kwt_.node_count) return 0;
    return kwt_give_(kwt_.nodes[row].spec.name, (uint32_t)strlen(kwt_.nodes[row].spec.name), buf, limit);
}
uint32_t kw_host_current_node_name(void *buf, uint32_t limit) { return kw_host_node_name(kwt_.row, buf, limit); }
void kw_host_cluster_events(const void *buf, uint32_t len) { kwt_put_(&kwt_.log, buf, buf ? 0 * len : 0); }
void kw_host_node_names(const void *buf, uint32_t len) {
    kwt_.names.len = 0;
    kwt_put_(&kwt_.names, buf, len);
}
void kw_host_nominated_node(const void *buf, uint32_t len) {
    snprintf(kwt_.nominated, sizeof kwt_.nominated, "%.*s", (int)len, (const char *)buf);
}
void kw_host_reason(const void *buf, uint32_t len) { kwt_keep_text_(kwt_.reason, buf, len); }
void kw_host_hint(const void *buf, uint32_t len) { kwt_keep_text_(kwt_.hint, buf, len); }
void kw_host_event(const void *buf, uint32_t len) {
    kwt_put_(&kwt_.events, buf, len);
    kwt_put_(&kwt_.events, "\n", 1);
}
int32_t kw_host_severity(void) { return 0; }
void kw_host_logs(int32_t severity, const void *message, uint32_t len, const void *pairs, uint32_t pairs_len) {
    (void)severity;
    kwt_put_(&kwt_.log, message, len);
    const char *rest = pairs;
    for (uint32_t at = 0, number = 0; at < pairs_len; number++) {
        uint32_t size = (uint32_t)strlen(rest + at);
        kwt_put_(&kwt_.log, number % 2 ? "=" : " ", 1);
        kwt_put_(&kwt_.log, rest + at, size);
        at += size + 1;
    }
    kwt_put_(&kwt_.log, "\n", 1);
}
void kw_host_log(int32_t severity, const void *message, uint32_t len) { kw_host_logs(severity, message, len, "", 0); }
void kw_host_normalization(int32_t method, int32_t reverse, int32_t maximum) {
    kwt_.normalization = (kw_normalization)method;
    kwt_.is_reverse = reverse;
    kwt_.maximum = maximum;
}
/* The answers of a pure plugin are compared by `kubewasp plugin test`. */
void kw_host_pure(int32_t reports) { (void)reports; }
void kw_host_pod_read(uint32_t metadata, uint32_t spec, uint32_t spec_high, uint32_t others) {
    (void)metadata, (void)spec, (void)spec_high, (void)others;
}
void kw_host_pod_signature(uint32_t low, uint32_t high) { kwt_.is_signed = low || high; }
int64_t kw_host_now(void) { return kwt_.now; }
int32_t kw_host_cycle(void) { return kwt_.cycle; }
int32_t kw_host_resource(const void *name, uint32_t len) {
    for (int32_t id = 0; id < kwt_.resource_count; id++) {
        if (strlen(kwt_.resources[id]) == len && !memcmp(kwt_.resources[id], name, len)) return id;
    }
    if (kwt_.resource_count == KWT_RESOURCES || len > 255) abort();
    memcpy(kwt_.resources[kwt_.resource_count], name, len);
    return kwt_.resource_count++;
}
uint32_t kw_host_pod_requests(void *buf, uint32_t limit) {
    int64_t numbers[2 + KWT_RESOURCES];
    for (int32_t id = 0; id < kwt_.resource_count; id++) numbers[2 + id] = kwt_request_(&kwt_.pod_spec, id);
    numbers[0] = numbers[2] ? numbers[2] : 100;
    numbers[1] = numbers[3] ? numbers[3] : 200ll << 20;
    uint32_t count = 8 * (2 + (uint32_t)kwt_.resource_count);
    (void)kwt_give_(numbers, count < limit ? count : limit / 8 * 8, buf, limit);
    return count;
}
uint32_t kw_host_node_info(int32_t row, void *buf, uint32_t limit) {
    int64_t numbers[4 + 2 * KWT_RESOURCES];
    if (row < 0 || row >= kwt_.node_count) return 0;
    numbers[0] = kwt_.nodes[row].generation;
    numbers[1] = ++kwt_.generation;
    numbers[2] = kwt_sum_(row, 0, true);
    numbers[3] = kwt_sum_(row, 1, true);
    for (int32_t id = 0; id < kwt_.resource_count; id++) {
        numbers[4 + 2 * id] = kwt_allocatable_(&kwt_.nodes[row].spec, id);
        numbers[5 + 2 * id] = kwt_sum_(row, id, false);
    }
    uint32_t count = 8 * (4 + 2 * (uint32_t)kwt_.resource_count);
    (void)kwt_give_(numbers, count < limit ? count : limit / 8 * 8, buf, limit);
    return count;
}
int32_t kw_host_at_hand(void *buf) {
    int64_t known[3] = {kwt_.cycle, kwt_.row < 0 ? 0 : kwt_.nodes[kwt_.row].generation, ++kwt_.generation};
    memcpy(buf, known, sizeof known);
    return kwt_.row;
}
int32_t kw_host_node_rows(void) { return kwt_.node_count; }
int32_t kw_host_node_row(const void *name, uint32_t len) {
    char text[512];
    snprintf(text, sizeof text, "%.*s", (int)len, (const char *)name);
    return kwt_row_(text);
}
uint32_t kw_host_node_object(int32_t row, void *buf, uint32_t limit) {
    if (row < 0 || row >= kwt_.node_count) return 0;
    return kwt_give_(kwt_.nodes[row].object.at, kwt_.nodes[row].object.len, buf, limit);
}
uint32_t kw_host_node_pods(int32_t row, void *buf, uint32_t limit) {
    if (row < 0 || row >= kwt_.node_count) return 0;
    return kwt_give_pods_(kwt_.placed, kwt_.placed_count, kwt_.nodes[row].spec.name, buf, limit);
}
uint32_t kw_host_waiting_pods(void *buf, uint32_t limit) {
    return kwt_give_pods_(kwt_.waiting, kwt_.waiting_count, 0, buf, limit);
}
static int32_t kwt_end_wait_(const void *uid, uint32_t len, bool is_allowed) {
    for (int32_t i = 0; i < kwt_.waiting_count; i++) {
        const char *own = kwt_.waiting[i].uid ? kwt_.waiting[i].uid : kwt_.waiting[i].name;
        if (strlen(own) != len || memcmp(own, uid, len)) continue;
        if (is_allowed) kwt_place(kwt_.waiting[i]);
        kwt_.waiting[i] = kwt_.waiting[--kwt_.waiting_count];
        return 1;
    }
    return 0;
}
int32_t kw_host_allow_waiting_pod(const void *uid, uint32_t len) { return kwt_end_wait_(uid, len, true); }
int32_t kw_host_reject_waiting_pod(const void *uid, uint32_t len, const void *reason, uint32_t reason_len) {
    (void)reason;
    (void)reason_len;
    return kwt_end_wait_(uid, len, false);
}
uint32_t kw_host_feasible_rows(void *buf, uint32_t limit) {
    static int32_t rows[KWT_MOST];
    uint32_t count = 0;
    for (int32_t row = 0; row < kwt_.node_count; row++) {
        if (kwt_.nodes[row].is_feasible) rows[count++] = row;
    }
    return kwt_give_(rows, 4 * count, buf, limit);
}
uint32_t kw_host_node_scores(void *buf, uint32_t limit) {
    static int64_t scores[KWT_MOST];
    uint32_t count = 0;
    for (int32_t row = 0; row < kwt_.node_count; row++) {
        if (kwt_.nodes[row].is_feasible) scores[count++] = kwt_.nodes[row].score;
    }
    return kwt_give_(scores, 8 * count, buf, limit);
}
uint32_t kw_host_node_statuses(void *buf, uint32_t limit) {
    static int32_t pairs[2 * KWT_MOST];
    for (int32_t row = 0; row < kwt_.node_count; row++) {
        pairs[2 * row] = row;
        pairs[2 * row + 1] = KW_UNSCHEDULABLE;
    }
    return kwt_give_(pairs, 8 * (uint32_t)kwt_.node_count, buf, limit);
}
void kw_host_send_scores(const void *buf, uint32_t len) {
    if (len <= sizeof kwt_.sent_scores) memcpy(kwt_.sent_scores, buf, len);
    kwt_.has_sent_scores = true;
}
void kw_host_sort_key(const void *buf, uint32_t len) {
    kwt_.key.len = 0;
    kwt_put_(&kwt_.key, buf, len);
}
void kw_host_annotation(const void *key, uint32_t key_len, const void *value, uint32_t value_len) {
    if (kwt_.hook != KWT_RESERVE && kwt_.hook != KWT_PRE_BIND) {
        printf("kw_annotate is allowed in KW_RESERVE and KW_PRE_BIND only\n");
        fflush(stdout);
        abort();
    }
    kwt_put_(&kwt_.annotations, key, key_len);
    kwt_put_(&kwt_.annotations, "", 1);
    kwt_put_(&kwt_.annotations, value, value_len);
    kwt_put_(&kwt_.annotations, "", 1);
}
int64_t kw_host_queued_at(void) { return kwt_.queued_at; }
int32_t kw_host_event_resource(void) { return KW_EVENT_NODE; }
int32_t kw_host_event_action(void) { return KW_ADD; }
uint32_t kw_host_event_old(void *buf, uint32_t limit) { return kwt_give_("", 0, buf, limit); }
uint32_t kw_host_event_new(void *buf, uint32_t limit) { return kw_host_node_object(kwt_.row, buf, limit); }
int32_t kw_host_state(void) { return kwt_.state; }

/* ------------------------------------------------------------------ cycles */

static void kwt_add_node(kwt_node_spec node) {
    if (kwt_.node_count == KWT_MOST) abort();
    if (!node.cpu) node.cpu = 8000;
    if (!node.memory) node.memory = 32ll << 30;
    if (!node.pods) node.pods = 110;
    kwt_node_ *made = &kwt_.nodes[kwt_.node_count++];
    made->spec = node;
    made->object = kwt_encode_node_(&node);
    made->generation = ++kwt_.generation;
}

static void kwt_place(kwt_pod_spec pod) {
    if (kwt_.placed_count == KWT_MOST || !pod.node || kwt_row_(pod.node) < 0) abort();
    kwt_.placed[kwt_.placed_count++] = pod;
}

static void kwt_set_time(int64_t ns) { kwt_.now = ns; }
static const char *kwt_reason(void) { return kwt_.reason; }

static const char *kwt_ended_(kwt_bytes_ *bytes) {
    kwt_put_(bytes, "", 1);
    bytes->len--;
    return bytes->at;
}
static const char *kwt_log(void) { return kwt_ended_(&kwt_.log); }
static const char *kwt_events(void) { return kwt_ended_(&kwt_.events); }

static const char *kwt_load(const char *config) {
    kwt_.config = config;
    kwt_.refusal[0] = 0;
    if (kw_native_hooks[KW_HOOK_START_]) kw_native_hooks[KW_HOOK_START_]();
    return kwt_.refusal[0] ? kwt_.refusal : 0;
}

static void kwt_begin_(kwt_pod_spec pod) {
    if (!kwt_.config) (void)kwt_load("");
    free(kwt_.pod.at);
    kwt_.pod_spec = pod;
    kwt_.pod = kwt_encode_pod_(&pod);
    kwt_.cycle++;
    kwt_.row = -1;
    kwt_.reason[0] = 0;
}

static int32_t kwt_code_(int number, int32_t row) {
    kwt_.row = row;
    kwt_.hook = number;
    kwt_.reason[0] = kwt_.hint[0] = 0;
    return kw_native_hooks[number] ? ((int32_t(*)(void))kw_native_hooks[number])() : KW_SUCCESS;
}

static int64_t kwt_long_(int number, int32_t row) {
    kwt_.row = row;
    kwt_.hook = number;
    kwt_.reason[0] = kwt_.hint[0] = 0;
    return kw_native_hooks[number] ? ((int64_t(*)(void))kw_native_hooks[number])() : 0;
}

static kwt_result kwt_ended_by_(const char *hook, kw_status status) {
    return (kwt_result){.node = "", .reason = kwt_.reason, .hook = hook, .status = status};
}

static bool kwt_is_selected_(const char *name) {
    if (!kwt_.names.len) return true;
    for (uint32_t at = 0; at < kwt_.names.len; at += (uint32_t)strlen(kwt_.names.at + at) + 1) {
        if (!strcmp(kwt_.names.at + at, name)) return true;
    }
    return false;
}

/* Scores of the feasible nodes; the row of the best one. */
static int32_t kwt_best_(kwt_result *result) {
    int32_t best = -1, status = kwt_code_(6, -1);
    if (status != KW_SUCCESS && status != KW_SKIP) {
        *result = kwt_ended_by_("prescore", status);
        return -1;
    }
    for (int32_t row = 0; row < kwt_.node_count && status != KW_SKIP; row++) {
        if (!kwt_.nodes[row].is_feasible) continue;
        int64_t scored = kwt_long_(7, row);
        kwt_.nodes[row].score = scored >> 32;
        if ((int32_t)scored != KW_SUCCESS) {
            *result = kwt_ended_by_("score", (int32_t)scored);
            return -1;
        }
    }
    kwt_.has_sent_scores = false;
    if (status != KW_SKIP && (status = kwt_code_(8, -1)) != KW_SUCCESS) {
        *result = kwt_ended_by_("normalizescore", status);
        return -1;
    }
    if (kwt_.normalization && status != KW_SKIP) {
        uint32_t size = kw_host_node_scores(kwt_.sent_scores, sizeof kwt_.sent_scores);
        kw_apply_normalization(kwt_.normalization, kwt_.is_reverse, kwt_.maximum, kwt_.sent_scores, size / 8);
        kwt_.has_sent_scores = true;
    }
    for (int32_t row = 0, place = 0; row < kwt_.node_count; row++) {
        if (!kwt_.nodes[row].is_feasible) continue;
        if (kwt_.has_sent_scores) kwt_.nodes[row].score = kwt_.sent_scores[place++];
        int64_t score = kwt_.nodes[row].score;
        if (kw_native_hooks[7] && status != KW_SKIP && (score < 0 || score > KW_MAX_SCORE)) {
            snprintf(kwt_.reason, sizeof kwt_.reason, "the score of %s is %lld, not within 0 to %d",
                     kwt_.nodes[row].spec.name, (long long)score, KW_MAX_SCORE);
            *result = kwt_ended_by_("score", KW_ERROR);
            return -1;
        }
        if (best < 0 || kwt_.nodes[row].score > kwt_.nodes[best].score) best = row;
    }
    return best;
}

/* The result of a pod that fails after the choice of its node: the plugin is told by unreserve. */
static kwt_result kwt_given_up_(kwt_result result, int32_t row) {
    static char kept[KW_LONGEST_TEXT + 1];
    memcpy(kept, kwt_.reason, sizeof kept);
    if (kw_native_hooks[10]) {
        kwt_.row = row;
        kwt_.hook = 10;
        kw_native_hooks[10]();
    }
    kwt_.annotations.len = 0;
    result.reason = kept;
    return result;
}

static kwt_result kwt_schedule(kwt_pod_spec pod) {
    kwt_begin_(pod);
    kwt_.names.len = kwt_.annotations.len = 0;
    for (int32_t row = 0; row < kwt_.node_count; row++) {
        kwt_.nodes[row].is_feasible = false;
        kwt_.nodes[row].score = -1;
        kwt_.nodes[row].reason[0] = 0;
    }
    int32_t status = kwt_code_(1, -1), left = 0;
    bool is_skipped = status == KW_SKIP;
    if (status != KW_SUCCESS && !is_skipped) return kwt_ended_by_("prefilter", status);
    for (int32_t row = 0; row < kwt_.node_count; row++) {
        if (!kwt_is_selected_(kwt_.nodes[row].spec.name)) continue;
        status = is_skipped ? KW_SUCCESS : kwt_code_(4, row);
        if (status == KW_ERROR) return kwt_ended_by_("filter", status);
        kwt_.nodes[row].is_feasible = status == KW_SUCCESS;
        left += status == KW_SUCCESS;
        if (status != KW_SUCCESS) memcpy(kwt_.nodes[row].reason, kwt_.reason, sizeof kwt_.reason);
    }
    if (!left) {
        kwt_.nominated[0] = 0;
        int64_t answer = kw_native_hooks[5] ? kwt_long_(5, -1) : KW_UNSCHEDULABLE;
        return kwt_ended_by_("postfilter", (int32_t)answer);
    }
    kwt_result result = {.node = "", .reason = ""};
    int32_t best = kwt_best_(&result);
    if (best < 0) return result;
    if ((status = kwt_code_(KWT_RESERVE, best)) != KW_SUCCESS) return kwt_given_up_(kwt_ended_by_("reserve", status), best);
    pod.node = kwt_.nodes[best].spec.name;
    int64_t permitted = kwt_long_(11, best);
    result.status = (int32_t)(permitted >> 32);
    result.timeout = (uint32_t)permitted;
    if (result.status == KW_WAIT) {
        kwt_.waiting[kwt_.waiting_count++] = pod;
        result.reason = kwt_.reason;
        result.is_waiting = true;
        return result;
    }
    if (result.status == KW_SUCCESS && (status = kwt_code_(KWT_PRE_BIND, best)) != KW_SUCCESS) result = kwt_ended_by_("prebind", status);
    if (result.status == KW_SUCCESS) {
        status = kwt_code_(13, best);
        if (status != KW_SUCCESS && status != KW_SKIP) result = kwt_ended_by_("bind", status);
    }
    if (result.status != KW_SUCCESS) {
        result.hook = result.hook ? result.hook : "permit";
        return kwt_given_up_(result, best);
    }
    kwt_place(pod);
    if (kw_native_hooks[14]) {
        kwt_.row = best;
        kwt_.hook = 14;
        kw_native_hooks[14]();
    }
    result.node = pod.node;
    return result;
}

static const char *kwt_rejected(const char *node) {
    int32_t row = kwt_row_(node);
    return row < 0 ? "(no such node)" : kwt_.nodes[row].reason;
}

static int64_t kwt_score(const char *node) {
    int32_t row = kwt_row_(node);
    return row < 0 ? -1 : kwt_.nodes[row].score;
}

static const char *kwt_annotation(const char *key) {
    for (uint32_t at = 0; at < kwt_.annotations.len;) {
        const char *name = kwt_.annotations.at + at, *value = name + strlen(name) + 1;
        if (!strcmp(name, key)) return value;
        at += (uint32_t)(strlen(name) + strlen(value)) + 2;
    }
    return "";
}

static uint64_t kwt_signature(kwt_pod_spec pod) {
    kwt_begin_(pod);
    return kwt_.is_signed ? 1 : (uint64_t)kwt_long_(21, -1);
}

static kw_status kwt_pre_enqueue(kwt_pod_spec pod) {
    kwt_begin_(pod);
    return kwt_code_(15, -1);
}

static bool kwt_before(kwt_pod_spec one, int64_t queued_at, kwt_pod_spec other, int64_t other_queued_at) {
    uint8_t first[KW_LONGEST_TEXT];
    kwt_begin_(one);
    kwt_.queued_at = queued_at;
    (void)kwt_code_(16, -1);
    uint32_t first_len = kwt_.key.len;
    if (first_len) memcpy(first, kwt_.key.at, first_len);
    kwt_begin_(other);
    kwt_.queued_at = other_queued_at;
    (void)kwt_code_(16, -1);
    uint32_t common = first_len < kwt_.key.len ? first_len : kwt_.key.len;
    int order = common ? memcmp(first, kwt_.key.at, common) : 0;
    return order < 0 || (order == 0 && first_len < kwt_.key.len);
}

static kw_status kwt_trial_(int number, kwt_pod_spec other, const char *node) {
    free(kwt_.target.at);
    kwt_.target = kwt_encode_pod_(&other);
    return kwt_code_(number, kwt_row_(node));
}
static kw_status kwt_add_pod(kwt_pod_spec other, const char *node) { return kwt_trial_(2, other, node); }
static kw_status kwt_remove_pod(kwt_pod_spec other, const char *node) { return kwt_trial_(3, other, node); }

static void kwt_state_hook_(int number, int32_t state) {
    kwt_.state = state;
    if (kw_native_hooks[number]) kw_native_hooks[number]();
}
static void kwt_clone_state(int32_t number) { kwt_state_hook_(18, number); }
static void kwt_select_state(int32_t number) { kwt_state_hook_(19, number); }
static void kwt_drop_state(int32_t number) { kwt_state_hook_(20, number); }

#endif
