/* kubewasp.h: scheduler plugins in C and Zig, in one header. Freestanding: no C library.
 *
 * A plugin is a set of hooks, one macro each:
 *
 *     #include "kubewasp.h"
 *
 *     KW_FILTER(pod, node) {
 *         if (!kw_equal(kw_node_label(node, "lifecycle"), "spot"))
 *             return kw_unresolvable("node is no spot node");
 *         return kw_success();
 *     }
 *
 * `kubewasp plugin build` compiles a project to a guest, `kubewasp plugin test` runs its tests natively against the fake host
 * of kubewasp_test.h. Imports that a plugin does not use are not in its guest.
 *
 * The first half of this file is the interface, the second half (from KW_DECLARE_ONLY on) the implementation. By default
 * all functions are static. Other languages take declarations only (KW_DECLARE_ONLY) and link kubewasp.c, which has the rest:
 * examples/guests/nodenumber.zig does so in Zig.
 *
 * Texts are views (kw_text), not ended by a NUL, into buffers of this header. Those of the pod at hand are valid until
 * the next pod; those of a node until the next node is read, and those of a list of pods until the next list is read.
 */
#ifndef KUBEWASP_H
#define KUBEWASP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(KW_DECLARE_ONLY) || defined(KW_IMPLEMENT)
#define KW_API extern
#else
#define KW_API static inline __attribute__((unused))
#endif
#define KW_UNUSED __attribute__((unused))

#ifdef __cplusplus
#error "kubewasp.h is for C; compile the plugin as C"
#endif

/* ------------------------------------------------------------------ texts */

/* A text of `len` bytes. An absent text has the length 0. */
typedef struct {
    const char *at;
    uint32_t len;
} kw_text;

typedef struct {
    kw_text *at;
    uint32_t count;
} kw_texts;

/* A literal as a text, also as an initializer of a static variable. */
#define KW_TEXT(literal) {literal, sizeof(literal) - 1}

/* The text of a C string. */
KW_API kw_text kw_str(const char *text);
KW_API bool kw_equal(kw_text text, const char *other);
KW_API bool kw_same(kw_text one, kw_text other);
KW_API bool kw_starts_with(kw_text text, const char *prefix);
/* The place of a text in a list; -1 if it is not there. */
KW_API int32_t kw_index(kw_texts list, kw_text text);
/* A copy that stays valid. Memory is never freed: for values of the start, or of a node cache. */
KW_API kw_text kw_keep(kw_text text);
/* The number that a text of digits is, with an optional sign. False for any other text, and for numbers over 64 bits. */
KW_API bool kw_parse_int(kw_text text, int64_t *number);
/* Memory, filled with 0, that is never freed. A guest without memory left traps. */
KW_API void *kw_alloc(uint32_t size);

/* A formatted text of at most KW_LONGEST_TEXT bytes, valid until the next one; the rest is cut.
 * Formats: %s (const char *), %t (kw_text), %c, %d (int), %u (unsigned), %ld, %lu, %lld, %llu, %%. Any other one ends the
 * formatting: it and the rest are shown as they are, and no further value is read. */
enum { KW_LONGEST_TEXT = 1024 };
KW_API kw_text kw_format(const char *format, ...);

/* ------------------------------------------------------------------ status */

/* Result of a hook. */
typedef int32_t kw_status;
enum { KW_SUCCESS, KW_ERROR, KW_UNSCHEDULABLE, KW_UNRESOLVABLE, KW_WAIT, KW_SKIP };
enum { KW_MAX_SCORE = 100 };

/* Accepts the pod or node. */
KW_API kw_status kw_success(void);
/* Rejects the pod or node; preemption may help. The reason is a format of kw_format. */
KW_API kw_status kw_unschedulable(const char *reason, ...);
/* Rejects the pod or node; preemption cannot help. */
KW_API kw_status kw_unresolvable(const char *reason, ...);
/* Reports an error; the pod is tried again later. In KW_START it refuses the configuration. */
KW_API kw_status kw_failed(const char *reason, ...);
/* Delays the binding of the pod; for KW_PERMIT only. */
KW_API kw_status kw_wait(const char *reason, ...);
/* Skips the plugin for the pod: its filter after prefilter, its score after prescore, its bind. */
KW_API kw_status kw_skip(void);
/* Any status, with a reason that is not a format. */
KW_API kw_status kw_answer(kw_status code, kw_text reason);
/* What the pod or node would need, such as "label disk=ssd"; `kubewasp explain` shows it. */
KW_API void kw_hint(const char *hint, ...);

/* ------------------------------------------------------------------ objects */

/* An encoded protobuf message. */
typedef kw_text kw_message;

/* Occurrences of a field in a message; make it with kw_fields. */
typedef struct {
    kw_message rest;
    uint32_t number;
    kw_message outer; /* further occurrences of the message itself, which count as one */
    uint32_t part;
} kw_fields_iterator;

/* The last text or message with this field number; empty if there is none. */
KW_API kw_text kw_field(kw_message message, uint32_t number);
/* The last integer or boolean with this field number; 0 if there is none. */
KW_API int64_t kw_field_int(kw_message message, uint32_t number);
KW_API bool kw_has_field(kw_message message, uint32_t number);
/* All texts or messages with this field number: while (kw_next(&items, &item)) … */
KW_API kw_fields_iterator kw_fields(kw_message message, uint32_t number);
KW_API bool kw_next(kw_fields_iterator *items, kw_text *item);

/* A map of texts, such as labels. */
typedef struct {
    kw_message of;
    uint32_t number;
    uint32_t part; /* the map is a field of this part of the message; 0: of the message itself */
} kw_map;

KW_API kw_text kw_map_get(kw_map map, const char *key);
KW_API bool kw_map_find(kw_map map, kw_text key, kw_text *value);
KW_API kw_fields_iterator kw_map_entries(kw_map map);
KW_API bool kw_next_entry(kw_fields_iterator *entries, kw_text *key, kw_text *value);

/* A view of a pod. */
typedef struct {
    kw_message object;
    bool is_current; /* the pod at hand: read on first use */
} kw_pod;

KW_API kw_message kw_pod_object(kw_pod *pod);
KW_API kw_message kw_pod_metadata(kw_pod *pod);
/* The whole spec, valid until that of another pod is read. */
KW_API kw_message kw_pod_spec(kw_pod *pod);
KW_API kw_text kw_pod_name(kw_pod *pod);
KW_API kw_text kw_pod_namespace(kw_pod *pod);
KW_API kw_text kw_pod_uid(kw_pod *pod);
KW_API kw_map kw_pod_labels(kw_pod *pod);
KW_API kw_text kw_pod_label(kw_pod *pod, const char *key);
KW_API kw_map kw_pod_annotations(kw_pod *pod);
KW_API kw_text kw_pod_annotation(kw_pod *pod, const char *key);
KW_API kw_map kw_pod_node_selector(kw_pod *pod);
KW_API kw_text kw_pod_node_name(kw_pod *pod);
KW_API kw_text kw_pod_scheduler_name(kw_pod *pod);
KW_API kw_text kw_pod_priority_class(kw_pod *pod);
KW_API int32_t kw_pod_priority(kw_pod *pod);
KW_API kw_text kw_pod_phase(kw_pod *pod);
/* Containers: texts kw_field(container, 1) name, 2 image; kw_next iterates. */
KW_API kw_fields_iterator kw_pod_containers(kw_pod *pod);
KW_API kw_fields_iterator kw_pod_init_containers(kw_pod *pod);
KW_API kw_text kw_container_name(kw_message container);
KW_API kw_text kw_container_image(kw_message container);

typedef struct {
    kw_text key, value, effect;
    kw_text op; /* of a toleration: "Equal" (also if empty) or "Exists" */
} kw_taint;

KW_API kw_fields_iterator kw_pod_tolerations(kw_pod *pod);
KW_API bool kw_next_toleration(kw_fields_iterator *tolerations, kw_taint *toleration);
KW_API bool kw_tolerates(const kw_taint *toleration, const kw_taint *taint);

/* A resource: its number, and its name for pods other than the one at hand. */
typedef struct {
    int32_t id;
    const char *name;
} kw_resource;

static const kw_resource KW_CPU KW_UNUSED = {0, "cpu"}; /* in milli */
static const kw_resource KW_MEMORY KW_UNUSED = {1, "memory"};
static const kw_resource KW_EPHEMERAL_STORAGE KW_UNUSED = {2, "ephemeral-storage"};
static const kw_resource KW_PODS KW_UNUSED = {3, "pods"};
/* An extended resource such as "nvidia.com/gpu". Call it once, in KW_START; at most 64 different ones. The name is kept. */
KW_API kw_resource kw_resource_of(const char *name);

/* The request of a pod by the rules of the scheduler. */
KW_API int64_t kw_pod_request(kw_pod *pod, kw_resource resource);
/* The same for CPU and memory, with a small default for containers without a request. Of the pod at hand only. */
KW_API int64_t kw_pod_non_zero_request(kw_pod *pod, kw_resource resource);

enum { KW_MOST_NUMBERS = 4 + 2 * 4 }; /* with the resources that have constants; others are read on access */

/* A view of a node and its numbers. */
typedef struct {
    int32_t row; /* the place in the scheduler's table, from 0; -1 for an absent node */
    uint32_t known;
    int64_t generation;      /* of the Node object */
    int64_t generation_all;  /* of the node with its pods */
    int64_t numbers[KW_MOST_NUMBERS];
} kw_node;

KW_API kw_text kw_node_name(kw_node *node);
KW_API kw_message kw_node_object(kw_node *node);
KW_API kw_map kw_node_labels(kw_node *node);
KW_API kw_text kw_node_label(kw_node *node, const char *key);
KW_API kw_map kw_node_annotations(kw_node *node);
KW_API kw_text kw_node_annotation(kw_node *node, const char *key);
/* spec.unschedulable: whether the node is cordoned. */
KW_API bool kw_node_unschedulable(kw_node *node);
KW_API kw_text kw_node_provider_id(kw_node *node);
KW_API kw_fields_iterator kw_node_taints(kw_node *node);
KW_API bool kw_next_taint(kw_fields_iterator *taints, kw_taint *taint);
/* The status of a condition, e.g. "True" for "Ready". */
KW_API kw_text kw_node_condition(kw_node *node, const char *type);
/* The size in bytes of an image on the node; 0 if the node lacks it. */
KW_API int64_t kw_node_image_size(kw_node *node, kw_text image);
KW_API int64_t kw_node_allocatable(kw_node *node, kw_resource resource);
KW_API int64_t kw_node_requested(kw_node *node, kw_resource resource);
KW_API int64_t kw_node_free(kw_node *node, kw_resource resource);
KW_API int64_t kw_node_non_zero_requested(kw_node *node, kw_resource resource);
KW_API int64_t kw_node_pod_count(kw_node *node);

/* Nodes other than the one at hand. */
KW_API uint32_t kw_node_rows(void);
/* The node of a row; false for an empty row. */
KW_API bool kw_node_at(int32_t row, kw_node *node);
KW_API bool kw_node_named(kw_text name, kw_node *node);

/* Pods of a list: while (kw_next_pod(&pods, &pod)) … */
KW_API kw_fields_iterator kw_node_pods(kw_node *node);
KW_API bool kw_next_pod(kw_fields_iterator *pods, kw_pod *pod);

/* A number of your own for each node, computed anew when the Node object has changed. Zero-initialized: static kw_node_cache
 * prices; then kw_cached(&prices, node, price). */
typedef struct {
    int64_t value, generation;
} kw_cache_entry;
typedef struct {
    kw_cache_entry *entries;
    uint32_t count;
} kw_node_cache;
KW_API int64_t kw_cached(kw_node_cache *cache, kw_node *node, int64_t (*compute)(kw_node *node));

/* ------------------------------------------------------------------ scheduler */

/* The time in ns since 1970, simulated in a simulation. */
KW_API int64_t kw_now(void);
/* Severities of a log line. */
enum { KW_INFO, KW_WARNING, KW_ERROR_LINE };
KW_API bool kw_logs(int32_t severity);
KW_API void kw_log(int32_t severity, const char *format, ...);
typedef struct {
    kw_text key, value;
} kw_pair;
/* A line with keys and values: kw_log_pairs(KW_INFO, "chosen", (kw_pair[]){{KW_TEXT("node"), name}}, 1). */
KW_API void kw_log_pairs(int32_t severity, const char *message, const kw_pair *pairs, uint32_t count);

/* The object of an event. */
typedef struct {
    const char *kind;
    kw_text name, namespace_, uid;
} kw_reference;
KW_API kw_reference kw_pod_reference(kw_pod *pod);
KW_API kw_reference kw_node_reference(kw_node *node);
/* A Kubernetes event: type "Normal" or "Warning", machine-readable reason and action, a note that is a format. */
KW_API void kw_event(
    kw_reference regarding, const char *type, const char *reason, const char *action, const char *note, ...);

/* Pods that wait at permit, each with its node name; kw_next_pod iterates. */
KW_API kw_fields_iterator kw_waiting_pods(void);
/* Both take effect when the hook returns, and report whether the pod was waiting. */
KW_API bool kw_allow_waiting_pod(kw_text uid);
KW_API bool kw_reject_waiting_pod(kw_text uid, const char *reason, ...);

/* An annotation of the pod, written with its binding; in KW_RESERVE and KW_PRE_BIND only. */
KW_API void kw_annotate(kw_text key, kw_text value);

/* All pods get the same answers of filter and score while a node stays the same. Call it in KW_START. */
KW_API void kw_sign_all_pods(void);
/* The results of KW_PRE_FILTER, KW_FILTER, KW_PRE_SCORE and KW_SCORE depend on the pod, the configuration and the node at hand
 * with its pods, and on nothing else: the scheduler calls them again for nodes that have changed since they were called for an
 * equal pod. Pods are equal if all fields are that the plugin has read. Not pure: other nodes, the list of nodes of
 * KW_PRE_SCORE, waiting pods, the time, variables that other hooks change. Name and uid of the pod, also in a log line, make
 * every pod different. `kubewasp plugin test` compares. Call it in KW_START. */
KW_API void kw_declare_pure(void);

/* A normalization of scores by the scheduler itself, without a call of the plugin, in place of KW_NORMALIZE_SCORE. Call it in
 * KW_START. With `reverse`, the lowest score is the best; the maximum is that of the best node, mostly KW_MAX_SCORE. */
typedef enum {
    KW_KEEP_SCORES,  /* they must be from 0 to KW_MAX_SCORE */
    KW_PROPORTIONAL, /* shares of the highest score, rounded down: DefaultNormalizeScore of kube-scheduler */
    KW_MIN_MAX       /* from the lowest score, 0, to the highest; equal scores all become the maximum */
} kw_normalization;
KW_API void kw_normalize_scores(kw_normalization method, bool reverse, int32_t maximum);
/* The same on scores of one's own. Numbers are of 56 bits at most. */
KW_API void kw_apply_normalization(
    kw_normalization method, bool reverse, int32_t maximum, int64_t *scores, uint32_t count);

/* Signature of KW_SIGN_POD: uint64_t hash = kw_hash_text(kw_hash_int(KW_HASH, 3), name). Never 0 from these functions. */
#define KW_HASH 0xcbf29ce484222325ull
KW_API uint64_t kw_hash_int(uint64_t hash, int64_t number);
KW_API uint64_t kw_hash_text(uint64_t hash, kw_text text);

/* ------------------------------------------------------------------ configuration */

/* guestConfig as it is. */
KW_API kw_text kw_config(void);

typedef enum { KW_BOOL, KW_INT, KW_STRING, KW_STRINGS } kw_setting_kind;
typedef struct {
    const char *name;
    kw_setting_kind kind;
    void *place; /* bool, int64_t, kw_text, kw_texts */
} kw_setting;
/* Reads guestConfig, a JSON object, into the places of the settings; those that it lacks keep their values. An unknown field
 * or a wrong type fails: return kw_read_config(settings, count) from KW_START. */
KW_API kw_status kw_read_config(const kw_setting *settings, uint32_t count);

/* ------------------------------------------------------------------ lists of hooks */

/* Feasible nodes of KW_PRE_SCORE, in scoring order; read on first use. kw_node_at(kw_nodes_row(nodes, i), &node) has one. */
typedef struct {
    const int32_t *rows;
    uint32_t count;
    bool is_read;
} kw_nodes;
KW_API uint32_t kw_nodes_count(kw_nodes *nodes);
KW_API int32_t kw_nodes_row(kw_nodes *nodes, uint32_t place);

/* Scores of KW_NORMALIZE_SCORE: change `values` in place. */
typedef struct {
    int64_t *values;
    uint32_t count;
} kw_scores;
/* The row of a node by its place among the scores. The first call reads all rows. */
KW_API int32_t kw_scores_row(kw_scores *scores, uint32_t place);
/* Scales to 0 … 100 in proportion to the highest score; with `reverse`, the lowest is the best. Scores below 0 count as 0. If
 * this is all that the hook does, kw_normalize_scores is faster. */
KW_API void kw_normalize(kw_scores *scores, bool reverse);

/* Rejected nodes of KW_POST_FILTER: pairs of row and status code. */
typedef struct {
    const int32_t *pairs;
    uint32_t count;
} kw_statuses;

/* Restricts the pod to this node and others of the same call; in KW_PRE_FILTER. */
KW_API void kw_select_node(kw_text name);
/* Nominates a node; in KW_POST_FILTER. */
KW_API void kw_nominate(kw_text name);

/* Kinds of objects, and changes, of cluster events; in KW_ENQUEUE. */
enum {
    KW_EVENT_POD,
    KW_EVENT_NODE,
    KW_EVENT_PERSISTENT_VOLUME,
    KW_EVENT_PERSISTENT_VOLUME_CLAIM,
    KW_EVENT_POD_SCHEDULING_CONTEXT,
    KW_EVENT_RESOURCE_CLAIM,
    KW_EVENT_STORAGE_CLASS,
    KW_EVENT_CSI_NODE,
    KW_EVENT_CSI_DRIVER,
    KW_EVENT_CSI_STORAGE_CAPACITY,
    KW_EVENT_ANY
};
enum {
    KW_ADD = 1,
    KW_DELETE = 2,
    KW_UPDATE_NODE_ALLOCATABLE = 4,
    KW_UPDATE_NODE_LABEL = 8,
    KW_UPDATE_NODE_TAINT = 16,
    KW_UPDATE_NODE_CONDITION = 32,
    KW_UPDATE_NODE_ANNOTATION = 64,
    KW_UPDATE_NODE_DECLARED_FEATURE = 128,
    KW_UPDATE_POD_LABEL = 256,
    KW_UPDATE_POD_SCALE_DOWN = 512,
    KW_UPDATE_POD_TOLERATION = 1024,
    KW_UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 2048,
    KW_UPDATE_POD_GENERATED_RESOURCE_CLAIM = 4096,
    KW_UPDATE_OTHER = 8192,
    KW_UPDATE = (1 << 14) - 4,
    KW_ANY_CHANGE = (1 << 14) - 1
};
/* An event that may help a pod which this plugin rejected. */
KW_API void kw_register_event(uint32_t resource, uint32_t actions);

/* A change of the cluster, for KW_QUEUEING_HINT. */
typedef struct {
    uint32_t resource, action;
    kw_message before, after; /* a Pod or Node; empty where there is none */
} kw_change;
enum { KW_QUEUE_SKIP, KW_QUEUE };

/* Position in the queue, built part by part, most significant first; for KW_QUEUE_SORT. The smaller key goes first. */
typedef struct {
    uint8_t bytes[KW_LONGEST_TEXT];
    uint32_t len;
} kw_key;
KW_API void kw_key_int(kw_key *key, int64_t number);
KW_API void kw_key_int_desc(kw_key *key, int64_t number);
KW_API void kw_key_text(kw_key *key, kw_text text);

/* ------------------------------------------------------------------ hooks
 *
 * Each macro is followed by the body of a function. Names are those of the parameters in the body.
 *
 *     macro                                parameters               the body returns
 */
/*     KW_START()                           –                        kw_status; not Success refuses the guest */
#define KW_START() KW_HOOK_(kw_status, start_, void, KW_HOOK_START_, _initialize, void, kw_started(kw_user_start_()))
/*     KW_ENQUEUE()                         –                        nothing; calls kw_register_event */
#define KW_ENQUEUE() KW_HOOK_(void, enqueue_, void, 0, enqueue, void, (kw_user_enqueue_(), kw_send_events_()))
/*     KW_PRE_ENQUEUE(pod)                  kw_pod *                 kw_status */
#define KW_PRE_ENQUEUE(pod) \
    KW_HOOK_(kw_status, preenqueue_, KW_UNUSED kw_pod *pod, 15, preenqueue, int32_t, kw_user_preenqueue_(kw_queued_pod_()))
/*     KW_QUEUE_SORT(pod, queued_at, key)   kw_pod *, int64_t, kw_key *   nothing; adds parts to the key */
#define KW_QUEUE_SORT(pod, queued_at, key)                                                                            \
    KW_HOOK_(void, queuesort_, KW_UNUSED kw_pod *pod KW_COMMA_ KW_UNUSED int64_t queued_at KW_COMMA_ kw_key *key, 16, \
             queuesort, int32_t,                                                                                      \
             (kw_user_queuesort_(kw_queued_pod_(), kw_host_queued_at(), kw_new_key_()), kw_send_key_()))
/*     KW_QUEUEING_HINT(pod, change)        kw_pod *, kw_change *    KW_QUEUE or KW_QUEUE_SKIP */
#define KW_QUEUEING_HINT(pod, change)                                                                            \
    KW_HOOK_(int32_t, queueinghint_, KW_UNUSED kw_pod *pod KW_COMMA_ KW_UNUSED kw_change *change, 17, queueinghint, \
             int32_t, kw_user_queueinghint_(kw_queued_pod_(), kw_read_change_()))
/*     KW_SIGN_POD(pod)                     kw_pod *                 uint64_t signature, 0 for none */
#define KW_SIGN_POD(pod) \
    KW_HOOK_(uint64_t, signpod_, KW_UNUSED kw_pod *pod, 21, signpod, int64_t, (int64_t)kw_user_signpod_(kw_begin_()))
/*     KW_PRE_FILTER(pod)                   kw_pod *                 kw_status; may call kw_select_node */
#define KW_PRE_FILTER(pod)                                                          \
    KW_HOOK_(kw_status, prefilter_, KW_UNUSED kw_pod *pod, 1, prefilter, int32_t,   \
             kw_send_nodes_(kw_user_prefilter_(kw_shared_(kw_begin_selection_()))))
/*     KW_ADD_POD(pod, other, node)         kw_pod *, kw_pod *, kw_node *   kw_status; with KW_CYCLE_STATE */
#define KW_ADD_POD(pod, other, node)                                                                              \
    KW_HOOK_(kw_status, addpod_,                                                                                  \
             KW_UNUSED kw_pod *pod KW_COMMA_ KW_UNUSED kw_pod *other KW_COMMA_ KW_UNUSED kw_node *node, 2, addpod, \
             int32_t, kw_user_addpod_(kw_begin_(), kw_target_pod_(), kw_begin_node_()))
/*     KW_REMOVE_POD(pod, other, node)      the same */
#define KW_REMOVE_POD(pod, other, node)                                                                        \
    KW_HOOK_(kw_status, removepod_,                                                                            \
             KW_UNUSED kw_pod *pod KW_COMMA_ KW_UNUSED kw_pod *other KW_COMMA_ KW_UNUSED kw_node *node, 3,      \
             removepod, int32_t, kw_user_removepod_(kw_begin_(), kw_target_pod_(), kw_begin_node_()))
/*     KW_FILTER(pod, node)                 kw_pod *, kw_node *      kw_status, once per node */
#define KW_FILTER(pod, node)                                                                                     \
    KW_HOOK_(kw_status, filter_, KW_UNUSED kw_pod *pod KW_COMMA_ KW_UNUSED kw_node *node, 4, filter, int32_t,     \
             kw_user_filter_(kw_shared_(kw_begin_at_()), &kw_state_.node))
/*     KW_POST_FILTER(pod, statuses)        kw_pod *, kw_statuses *  kw_status; may call kw_nominate */
#define KW_POST_FILTER(pod, statuses)                                                                              \
    KW_HOOK_(kw_status, postfilter_, KW_UNUSED kw_pod *pod KW_COMMA_ KW_UNUSED kw_statuses *statuses, 5, postfilter, \
             int64_t, kw_nominated_(kw_user_postfilter_(kw_begin_(), kw_read_statuses_())))
/*     KW_PRE_SCORE(pod, nodes)             kw_pod *, kw_nodes *     kw_status */
#define KW_PRE_SCORE(pod, nodes)                                                                                      \
    KW_HOOK_(kw_status, prescore_, KW_UNUSED kw_pod *pod KW_COMMA_ KW_UNUSED kw_nodes *nodes, 6, prescore, int32_t,   \
             kw_user_prescore_(kw_shared_(kw_begin_()), kw_new_nodes_()))
/*     KW_SCORE(pod, node, score)           kw_pod *, kw_node *, int64_t *   kw_status; *score is 0 before */
#define KW_SCORE(pod, node, score)                                                                                   \
    KW_HOOK_(kw_status, score_, KW_UNUSED kw_pod *pod KW_COMMA_ KW_UNUSED kw_node *node KW_COMMA_ int64_t *score, 7, \
             score, int64_t, kw_scored_(kw_user_score_(kw_shared_(kw_begin_at_()), &kw_state_.node, kw_new_score_())))
/*     KW_NORMALIZE_SCORE(pod, scores)      kw_pod *, kw_scores *    kw_status */
#define KW_NORMALIZE_SCORE(pod, scores)                                                                           \
    KW_HOOK_(kw_status, normalizescore_, KW_UNUSED kw_pod *pod KW_COMMA_ KW_UNUSED kw_scores *scores, 8,          \
             normalizescore, int32_t, kw_send_scores_(kw_user_normalizescore_(kw_begin_(), kw_read_scores_())))
/*     KW_RESERVE(pod, node)                kw_pod *, kw_node *      kw_status; may call kw_annotate */
#define KW_RESERVE(pod, node) KW_NODE_HOOK_(pod, node, 9, reserve)
/*     KW_UNRESERVE(pod, node)              kw_pod *, kw_node *      nothing */
#define KW_UNRESERVE(pod, node) KW_END_HOOK_(pod, node, 10, unreserve)
/*     KW_PERMIT(pod, node, timeout)        kw_pod *, kw_node *, uint32_t *ms   kw_status, e.g. kw_wait */
#define KW_PERMIT(pod, node, timeout)                                                                            \
    KW_HOOK_(kw_status, permit_, KW_UNUSED kw_pod *pod KW_COMMA_ KW_UNUSED kw_node *node KW_COMMA_ KW_UNUSED uint32_t *timeout, \
             11, permit, int64_t,                                                                                \
             kw_permitted_(kw_user_permit_(kw_begin_at_(), &kw_state_.node, kw_new_timeout_())))
/*     KW_PRE_BIND(pod, node)               kw_pod *, kw_node *      kw_status; may call kw_annotate */
#define KW_PRE_BIND(pod, node) KW_NODE_HOOK_(pod, node, 12, prebind)
/*     KW_BIND(pod, node)                   kw_pod *, kw_node *      kw_status, kw_skip for the next bind plugin */
#define KW_BIND(pod, node) KW_NODE_HOOK_(pod, node, 13, bind)
/*     KW_POST_BIND(pod, node)              kw_pod *, kw_node *      nothing */
#define KW_POST_BIND(pod, node) KW_END_HOOK_(pod, node, 14, postbind)

/* The plugin's own state of one pod, from hook to hook: KW_CYCLE_STATE(struct counts, counts) defines a function counts()
 * that returns a pointer to it, filled with 0 for each new pod. One per plugin. Preemption trials work on copies. */
#define KW_CYCLE_STATE(type, name)                                                                    \
    KW_UNUSED static type *name(void) { return (type *)kw_cycle_state_(sizeof(type)); }               \
    KW_HOOK_EXPORT_(18, clonestate, void) { kw_clone_state_(sizeof(type)); }                          \
    KW_HOOK_EXPORT_(19, selectstate, void) { kw_select_state_(); }                                    \
    KW_HOOK_EXPORT_(20, dropstate, void) { kw_drop_state_(); }

/* Hooks without the macros, as in Zig: export functions of docs/abi.md, and begin each of them with one of these. */
KW_API kw_pod *kw_current_pod(void);
KW_API kw_node *kw_current_node(void);
/* The result of `score` and of `permit`. */
KW_API int64_t kw_score_result(int64_t score, kw_status status);
KW_API int64_t kw_permit_result(kw_status status, uint32_t timeout_ms);
/* The end of `_initialize`; a status other than KW_SUCCESS refuses the guest, with the reason of kw_failed. */
KW_API void kw_started(kw_status status);

#define KW_COMMA_ ,
#define KW_HOOK_START_ 31
#ifdef __wasm__
#define KW_HOOK_EXPORT_(number, name, result) \
    __attribute__((export_name(#name))) result kw_hook_##name(void);  \
    result kw_hook_##name(void)
#else
/* Natively, hooks are known to the fake host of kubewasp_test.h. */
typedef void (*kw_any_hook)(void);
extern kw_any_hook kw_native_hooks[32];
#define KW_HOOK_EXPORT_(number, name, result)                                        \
    result kw_hook_##name(void);                                                     \
    __attribute__((constructor)) static void kw_known_##name(void) {                 \
        kw_native_hooks[number] = (kw_any_hook)kw_hook_##name;                       \
    }                                                                                \
    result kw_hook_##name(void)
#endif
#define KW_RETURN_void
#define KW_RETURN_int32_t return
#define KW_RETURN_int64_t return
#define KW_HOOK_(returned, user, parameters, number, name, result, call) \
    static returned kw_user_##user(parameters);                          \
    KW_HOOK_EXPORT_(number, name, result) { KW_RETURN_##result call; }   \
    static returned kw_user_##user(parameters)
#define KW_NODE_HOOK_(pod, node, number, name)                                                                \
    KW_HOOK_(kw_status, name##_, KW_UNUSED kw_pod *pod KW_COMMA_ KW_UNUSED kw_node *node, number, name, int32_t, \
             kw_user_##name##_(kw_begin_at_(), &kw_state_.node))
#define KW_END_HOOK_(pod, node, number, name)                                                       \
    KW_HOOK_(void, name##_, KW_UNUSED kw_pod *pod KW_COMMA_ KW_UNUSED kw_node *node, number, name, void, \
             kw_user_##name##_(kw_begin_at_(), &kw_state_.node))

/* ====================================================================== implementation */
#ifndef KW_DECLARE_ONLY

/* Imports. Natively, kubewasp_test.h defines them. */
#ifdef __wasm__
#define KW_IMPORT_(module, name) __attribute__((import_module(module), import_name(name))) extern
#else
#define KW_IMPORT_(module, name) extern
#endif
#define KW_SCHEDULER_ "k8s.io/scheduler"
#define KW_EXTENSION_ "kubewasp/v1"
KW_IMPORT_(KW_SCHEDULER_, "get_config") uint32_t kw_host_config(void *buf, uint32_t limit);
KW_IMPORT_(KW_SCHEDULER_, "currentPod") uint32_t kw_host_current_pod(void *buf, uint32_t limit);
KW_IMPORT_(KW_SCHEDULER_, "targetPod") uint32_t kw_host_target_pod(void *buf, uint32_t limit);
KW_IMPORT_(KW_SCHEDULER_, "currentNodeName") uint32_t kw_host_current_node_name(void *buf, uint32_t limit);
KW_IMPORT_(KW_SCHEDULER_, "result.cluster_events") void kw_host_cluster_events(const void *buf, uint32_t len);
KW_IMPORT_(KW_SCHEDULER_, "result.node_names") void kw_host_node_names(const void *buf, uint32_t len);
KW_IMPORT_(KW_SCHEDULER_, "result.nominated_node_name") void kw_host_nominated_node(const void *buf, uint32_t len);
KW_IMPORT_(KW_SCHEDULER_, "result.status_reason") void kw_host_reason(const void *buf, uint32_t len);
KW_IMPORT_(KW_SCHEDULER_, "handle.eventrecorder.eventf") void kw_host_event(const void *buf, uint32_t len);
KW_IMPORT_("k8s.io/klog", "severity") int32_t kw_host_severity(void);
KW_IMPORT_("k8s.io/klog", "log") void kw_host_log(int32_t severity, const void *message, uint32_t len);
KW_IMPORT_("k8s.io/klog", "logs")
void kw_host_logs(int32_t severity, const void *message, uint32_t len, const void *pairs, uint32_t pairs_len);
KW_IMPORT_(KW_EXTENSION_, "pod_signature") void kw_host_pod_signature(uint32_t low, uint32_t high);
KW_IMPORT_(KW_EXTENSION_, "normalization") void kw_host_normalization(int32_t method, int32_t reverse, int32_t maximum);
KW_IMPORT_(KW_EXTENSION_, "pure") void kw_host_pure(int32_t reports);
KW_IMPORT_(KW_EXTENSION_, "pod_read")
void kw_host_pod_read(uint32_t metadata, uint32_t spec, uint32_t spec_high, uint32_t others);
KW_IMPORT_(KW_EXTENSION_, "now") int64_t kw_host_now(void);
KW_IMPORT_(KW_EXTENSION_, "cycle") int32_t kw_host_cycle(void);
KW_IMPORT_(KW_EXTENSION_, "resource") int32_t kw_host_resource(const void *name, uint32_t len);
KW_IMPORT_(KW_EXTENSION_, "pod_requests") uint32_t kw_host_pod_requests(void *buf, uint32_t limit);
KW_IMPORT_(KW_EXTENSION_, "at_hand") int32_t kw_host_at_hand(void *buf);
KW_IMPORT_(KW_EXTENSION_, "node_rows") int32_t kw_host_node_rows(void);
KW_IMPORT_(KW_EXTENSION_, "node_row") int32_t kw_host_node_row(const void *name, uint32_t len);
KW_IMPORT_(KW_EXTENSION_, "node_name") uint32_t kw_host_node_name(int32_t row, void *buf, uint32_t limit);
KW_IMPORT_(KW_EXTENSION_, "node_object") uint32_t kw_host_node_object(int32_t row, void *buf, uint32_t limit);
KW_IMPORT_(KW_EXTENSION_, "node_info") uint32_t kw_host_node_info(int32_t row, void *buf, uint32_t limit);
KW_IMPORT_(KW_EXTENSION_, "node_pods") uint32_t kw_host_node_pods(int32_t row, void *buf, uint32_t limit);
KW_IMPORT_(KW_EXTENSION_, "feasible_rows") uint32_t kw_host_feasible_rows(void *buf, uint32_t limit);
KW_IMPORT_(KW_EXTENSION_, "node_scores") uint32_t kw_host_node_scores(void *buf, uint32_t limit);
KW_IMPORT_(KW_EXTENSION_, "node_statuses") uint32_t kw_host_node_statuses(void *buf, uint32_t limit);
KW_IMPORT_(KW_EXTENSION_, "result.node_scores") void kw_host_send_scores(const void *buf, uint32_t len);
KW_IMPORT_(KW_EXTENSION_, "result.hint") void kw_host_hint(const void *buf, uint32_t len);
KW_IMPORT_(KW_EXTENSION_, "result.sort_key") void kw_host_sort_key(const void *buf, uint32_t len);
KW_IMPORT_(KW_EXTENSION_, "result.annotation")
void kw_host_annotation(const void *key, uint32_t key_len, const void *value, uint32_t value_len);
KW_IMPORT_(KW_EXTENSION_, "queued_at") int64_t kw_host_queued_at(void);
KW_IMPORT_(KW_EXTENSION_, "event_resource") int32_t kw_host_event_resource(void);
KW_IMPORT_(KW_EXTENSION_, "event_action") int32_t kw_host_event_action(void);
KW_IMPORT_(KW_EXTENSION_, "event_old") uint32_t kw_host_event_old(void *buf, uint32_t limit);
KW_IMPORT_(KW_EXTENSION_, "event_new") uint32_t kw_host_event_new(void *buf, uint32_t limit);
KW_IMPORT_(KW_EXTENSION_, "state") int32_t kw_host_state(void);
KW_IMPORT_(KW_EXTENSION_, "waiting_pods") uint32_t kw_host_waiting_pods(void *buf, uint32_t limit);
KW_IMPORT_(KW_EXTENSION_, "allow_waiting_pod") int32_t kw_host_allow_waiting_pod(const void *uid, uint32_t len);
KW_IMPORT_(KW_EXTENSION_, "reject_waiting_pod")
int32_t kw_host_reject_waiting_pod(const void *uid, uint32_t len, const void *reason, uint32_t reason_len);
#ifdef __wasm__
KW_IMPORT_("wasi_snapshot_preview1", "fd_write")
int32_t kw_host_fd_write(int32_t fd, const void *pieces, uint32_t count, void *written);
KW_IMPORT_("wasi_snapshot_preview1", "proc_exit") _Noreturn void kw_host_exit(int32_t code);
#else
void *kw_host_alloc(uint32_t size);
void kw_host_refuse(const char *text, uint32_t len);
#endif

/* State of the guest: one for all C files of a plugin. */
typedef struct {
    char *at;
    uint32_t len, limit;
} kw_buffer_;

typedef struct {
    int32_t number; /* 0: a free copy */
    void *value;
} kw_state_copy_;

typedef struct {
    int32_t cycle;
    bool has_cycle, pod_read, is_nominated;
    kw_pod pod, target, queued;
    kw_node node;
    kw_buffer_ pod_buffer, target_buffer, object, list, config, names, spec, rows, scores, old_object, new_object, numbers;
    int32_t object_row;
    int64_t object_generation;
    bool has_object;
    char node_name[256];
    int64_t requests[2 + 4];
    bool has_requests;
    bool is_pure, is_shared;
    uint32_t reads[4]; /* fields of the pod that the scheduler knows of */
    kw_text reason;
    kw_key key;
    kw_nodes nodes;
    kw_scores score_list;
    kw_statuses statuses;
    kw_change change;
    int64_t score;
    uint32_t timeout;
    uint32_t events[2 * 64];
    uint32_t event_count;
    void *first_state, *cycle_state;
    kw_state_copy_ *copies;
    uint32_t copy_count;
    char *heap, *heap_end;
    char text[KW_LONGEST_TEXT], note[KW_LONGEST_TEXT], json[20 * KW_LONGEST_TEXT];
} kw_guest_state_;

__attribute__((weak)) kw_guest_state_ kw_state_;

/* ------------------------------------------------------------------ memory and texts */

#ifdef __wasm__
extern char __heap_base;

/* Calls that a compiler makes for copies of structures; unused ones are not in the guest. */
__attribute__((weak)) void *memcpy(void *to, const void *from, size_t count) {
    for (size_t i = 0; i < count; i++) {
        ((volatile char *)to)[i] = ((const char *)from)[i];
    }
    return to;
}
__attribute__((weak)) void *memset(void *to, int value, size_t count) {
    for (size_t i = 0; i < count; i++) ((volatile char *)to)[i] = (char)value;
    return to;
}
__attribute__((weak)) int memcmp(const void *one, const void *other, size_t count) {
    for (size_t i = 0; i < count; i++) {
        int difference = ((const volatile unsigned char *)one)[i] - ((const unsigned char *)other)[i];
        if (difference) return difference;
    }
    return 0;
}

KW_API void *kw_alloc(uint32_t size) {
    const uint32_t page = 65536;
    uint64_t rounded = ((uint64_t)size + 7) & ~7ull;
    if (!kw_state_.heap) {
        kw_state_.heap = (char *)(((uintptr_t)&__heap_base + 7) & ~(uintptr_t)7);
        kw_state_.heap_end = (char *)((uintptr_t)__builtin_wasm_memory_size(0) * page);
    }
    if (rounded > (uint64_t)(kw_state_.heap_end - kw_state_.heap)) {
        uint64_t pages = (rounded + page - 1) / page;
        uintptr_t before = pages > 65535 ? (uintptr_t)-1 : __builtin_wasm_memory_grow(0, (uintptr_t)pages);
        if (before == (uintptr_t)-1) __builtin_trap();
        char *fresh = (char *)(before * page);
        if (fresh != kw_state_.heap_end) kw_state_.heap = fresh; /* another allocator has grown the memory */
        kw_state_.heap_end = fresh + (uintptr_t)pages * page;
    }
    char *made = kw_state_.heap;
    kw_state_.heap += rounded;
    return made;
}
#else
KW_API void *kw_alloc(uint32_t size) { return kw_host_alloc(size); }
#endif

KW_API void kw_copy_(void *to, const void *from, uint32_t count) {
    if (count) __builtin_memcpy(to, from, count);
}

KW_API bool kw_equal_bytes_(const char *one, const char *other, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (one[i] != other[i]) return false;
    }
    return true;
}

KW_API kw_text kw_str(const char *text) {
    kw_text made = {text, 0};
    if (text) {
        while (text[made.len]) made.len++;
    }
    return made;
}

KW_API bool kw_same(kw_text one, kw_text other) {
    return one.len == other.len && kw_equal_bytes_(one.at, other.at, one.len);
}

KW_API bool kw_equal(kw_text text, const char *other) { return kw_same(text, kw_str(other)); }

KW_API bool kw_starts_with(kw_text text, const char *prefix) {
    kw_text start = kw_str(prefix);
    return text.len >= start.len && kw_equal_bytes_(text.at, start.at, start.len);
}

KW_API int32_t kw_index(kw_texts list, kw_text text) {
    for (uint32_t i = 0; i < list.count; i++) {
        if (kw_same(list.at[i], text)) return (int32_t)i;
    }
    return -1;
}

KW_API kw_text kw_keep(kw_text text) {
    char *made = kw_alloc(text.len + 1);
    kw_copy_(made, text.at, text.len);
    return (kw_text){made, text.len};
}

KW_API bool kw_parse_int(kw_text text, int64_t *number) {
    uint32_t at = 0;
    bool negative = text.len && text.at[0] == '-';
    if (text.len && (negative || text.at[0] == '+')) at++;
    if (at == text.len) return false;
    uint64_t value = 0;
    const uint64_t most = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    for (; at < text.len; at++) {
        uint32_t digit = (uint32_t)(unsigned char)text.at[at] - '0';
        if (digit > 9 || value > (most - digit) / 10) return false;
        value = value * 10 + digit;
    }
    *number = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

/* A bounded text under construction. */
typedef struct {
    char *at;
    uint32_t len, limit;
} kw_writer_;

KW_API void kw_put_(kw_writer_ *to, kw_text text) {
    uint32_t count = text.len < to->limit - to->len ? text.len : to->limit - to->len;
    kw_copy_(to->at + to->len, text.at, count);
    to->len += count;
}

KW_API void kw_put_number_(kw_writer_ *to, bool negative, uint64_t value) {
    char digits[24];
    uint32_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    if (negative) digits[--at] = '-';
    kw_put_(to, (kw_text){digits + at, (uint32_t)sizeof digits - at});
}

KW_API void kw_put_signed_(kw_writer_ *to, int64_t value) {
    kw_put_number_(to, value < 0, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* A length without the beginning of a character that is cut off. */
KW_API uint32_t kw_whole_(const char *text, uint32_t len) {
    uint32_t at = len;
    while (at && len - at < 3 && (text[at - 1] & 0xc0) == 0x80) at--;
    if (!at) return len;
    unsigned char first = (unsigned char)text[at - 1];
    uint32_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
    return size > len - at + 1 ? at - 1 : len;
}

/* Values may be texts in `into` itself, such as that of kw_format: the result is copied at the end. */
KW_API kw_text kw_formatted_(char *into, const char *format, va_list values) {
    char made[KW_LONGEST_TEXT];
    kw_writer_ to = {made, 0, sizeof made};
    while (*format) {
        const char *plain = format;
        while (*format && *format != '%') format++;
        kw_put_(&to, (kw_text){plain, (uint32_t)(format - plain)});
        if (!*format) break;
        const char *conversion = format++;
        uint32_t longs = 0;
        while (*format == 'l' && longs < 2) {
            format++;
            longs++;
        }
        if (*format == 'd') {
            kw_put_signed_(&to, longs == 2   ? va_arg(values, long long)
                                : longs == 1 ? (long long)va_arg(values, long)
                                             : va_arg(values, int));
        } else if (*format == 'u') {
            kw_put_number_(&to, false,
                           longs == 2   ? va_arg(values, unsigned long long)
                           : longs == 1 ? (unsigned long long)va_arg(values, unsigned long)
                                        : va_arg(values, unsigned));
        } else if (*format == 's' && !longs) {
            kw_put_(&to, kw_str(va_arg(values, const char *)));
        } else if (*format == 't' && !longs) {
            kw_put_(&to, va_arg(values, kw_text));
        } else if (*format == 'c' && !longs) {
            char c = (char)va_arg(values, int);
            kw_put_(&to, (kw_text){&c, 1});
        } else if (*format == '%' && !longs) {
            kw_put_(&to, (kw_text){format, 1});
        } else {
            kw_put_(&to, kw_str(conversion));
            break;
        }
        format++;
    }
    if (to.len == to.limit) to.len = kw_whole_(made, to.len);
    kw_copy_(into, made, to.len);
    return (kw_text){into, to.len};
}

#define KW_FORMAT_(into, result)                                    \
    va_list values;                                                 \
    va_start(values, format);                                       \
    kw_text result = kw_formatted_(kw_state_.into, format, values); \
    va_end(values)

KW_API kw_text kw_format(const char *format, ...) {
    KW_FORMAT_(text, made);
    return made;
}

/* ------------------------------------------------------------------ status */

KW_API kw_status kw_answer(kw_status code, kw_text reason) {
    kw_state_.reason = reason;
    if (code != KW_SUCCESS && reason.len) kw_host_reason(reason.at, reason.len);
    return code;
}

KW_API kw_status kw_success(void) { return KW_SUCCESS; }
KW_API kw_status kw_skip(void) { return KW_SKIP; }

KW_API kw_status kw_unschedulable(const char *format, ...) {
    KW_FORMAT_(text, reason);
    return kw_answer(KW_UNSCHEDULABLE, reason);
}
KW_API kw_status kw_unresolvable(const char *format, ...) {
    KW_FORMAT_(text, reason);
    return kw_answer(KW_UNRESOLVABLE, reason);
}
KW_API kw_status kw_failed(const char *format, ...) {
    KW_FORMAT_(text, reason);
    return kw_answer(KW_ERROR, reason);
}
KW_API kw_status kw_wait(const char *format, ...) {
    KW_FORMAT_(text, reason);
    return kw_answer(KW_WAIT, reason);
}
KW_API void kw_hint(const char *format, ...) {
    KW_FORMAT_(note, hint);
    kw_host_hint(hint.at, hint.len);
}

/* ------------------------------------------------------------------ protobuf */

KW_API uint64_t kw_varint_(kw_message *rest) {
    uint64_t value = 0;
    for (uint32_t shift = 0; rest->len; shift += 7) {
        uint8_t byte = (uint8_t)*rest->at++;
        rest->len--;
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
    return value;
}

/* The next field: its number, its number value or its bytes. A damaged message has no further field. */
KW_API uint32_t kw_next_field_(kw_message *rest, uint64_t *value, kw_text *bytes) {
    if (!rest->len) return 0;
    uint64_t key = kw_varint_(rest), size = 0;
    *value = 0;
    *bytes = (kw_text){rest->at, 0};
    switch (key & 7) {
        case 0:
            *value = kw_varint_(rest);
            return (uint32_t)(key >> 3);
        case 1:
            size = 8;
            break;
        case 2:
            size = kw_varint_(rest);
            break;
        case 5:
            size = 4;
            break;
        default:
            size = UINT64_MAX;
    }
    if (size > rest->len) {
        rest->len = 0;
        return 0;
    }
    *bytes = (kw_text){rest->at, (uint32_t)size};
    rest->at += size;
    rest->len -= (uint32_t)size;
    return (uint32_t)(key >> 3);
}

KW_API kw_text kw_field(kw_message message, uint32_t number) {
    kw_text found = {message.at, 0}, bytes;
    uint64_t value;
    for (uint32_t field; (field = kw_next_field_(&message, &value, &bytes));) {
        if (field == number) found = bytes;
    }
    return found;
}

KW_API int64_t kw_field_int(kw_message message, uint32_t number) {
    uint64_t value, found = 0;
    kw_text bytes;
    for (uint32_t field; (field = kw_next_field_(&message, &value, &bytes));) {
        if (field == number) found = value;
    }
    return (int64_t)found;
}

KW_API bool kw_has_field(kw_message message, uint32_t number) {
    uint64_t value;
    kw_text bytes;
    for (uint32_t field; (field = kw_next_field_(&message, &value, &bytes));) {
        if (field == number) return true;
    }
    return false;
}

KW_API kw_fields_iterator kw_fields(kw_message message, uint32_t number) {
    return (kw_fields_iterator){message, number, {message.at, 0}, 0};
}

/* A message that occurs several times is one, as in protobuf: the host adds to a spec by appending another. */
KW_API kw_fields_iterator kw_fields_in_(kw_message outer, uint32_t part, uint32_t number) {
    return (kw_fields_iterator){{outer.at, 0}, number, outer, part};
}

KW_API bool kw_next(kw_fields_iterator *items, kw_text *item) {
    uint64_t value;
    for (;;) {
        for (uint32_t field; (field = kw_next_field_(&items->rest, &value, item));) {
            if (field == items->number) return true;
        }
        uint32_t field;
        while ((field = kw_next_field_(&items->outer, &value, &items->rest)) && field != items->part) {
        }
        if (!field) {
            items->rest.len = 0;
            return false;
        }
    }
}

KW_API kw_text kw_field_in_(kw_message outer, uint32_t part, uint32_t number) {
    kw_text found = {outer.at, 0}, item;
    kw_fields_iterator items = kw_fields_in_(outer, part, number);
    while (kw_next(&items, &item)) found = item;
    return found;
}

KW_API kw_fields_iterator kw_map_entries(kw_map map) {
    return map.part ? kw_fields_in_(map.of, map.part, map.number) : kw_fields(map.of, map.number);
}

KW_API bool kw_next_entry(kw_fields_iterator *entries, kw_text *key, kw_text *value) {
    kw_message entry;
    if (!kw_next(entries, &entry)) return false;
    *key = kw_field(entry, 1);
    *value = kw_field(entry, 2);
    return true;
}

KW_API bool kw_map_find(kw_map map, kw_text key, kw_text *value) {
    kw_fields_iterator entries = kw_map_entries(map);
    for (kw_text name, found; kw_next_entry(&entries, &name, &found);) {
        if (kw_same(name, key)) {
            *value = found;
            return true;
        }
    }
    return false;
}

KW_API kw_text kw_map_get(kw_map map, const char *key) {
    kw_text found = {map.of.at, 0};
    (void)kw_map_find(map, kw_str(key), &found);
    return found;
}

/* ------------------------------------------------------------------ reading from the host */

KW_API void kw_make_room_(kw_buffer_ *buffer, uint32_t size) {
    if (size > buffer->limit) {
        uint32_t limit = size < 2048 ? 4096 : size + size / 2;
        buffer->at = kw_alloc(limit);
        buffer->limit = limit;
    }
}

/* Reads a value with a getter `expression` that uses `to` and `limit`; once more if the buffer was too small. */
#define KW_READ_(buffer, expression)                                     \
    do {                                                                 \
        for (int turn = 0; turn < 2; turn++) {                           \
            void *to = (buffer)->at;                                     \
            uint32_t limit = (buffer)->limit;                            \
            (buffer)->len = (expression);                                \
            if ((buffer)->len <= limit) break;                           \
            kw_make_room_((buffer), (buffer)->len);                      \
            if (turn) (buffer)->len = 0;                                 \
        }                                                                \
    } while (0)

KW_API kw_text kw_content_(const kw_buffer_ *buffer) { return (kw_text){buffer->at, buffer->len}; }

KW_API kw_text kw_config(void) {
    KW_READ_(&kw_state_.config, kw_host_config(to, limit));
    return kw_content_(&kw_state_.config);
}

/* Forgets everything of the previous pod if there is a new one. */
KW_API void kw_see_cycle_(int32_t cycle) {
    if (kw_state_.has_cycle && kw_state_.cycle == cycle) return;
    kw_state_.cycle = cycle;
    kw_state_.has_cycle = true;
    kw_state_.pod_read = false;
    kw_state_.has_requests = false;
    kw_state_.cycle_state = 0;
    for (uint32_t i = 0; i < kw_state_.copy_count; i++) kw_state_.copies[i].number = 0;
}

/* A hook whose result may be shared with other pods: it matters what the plugin reads of this one. */
KW_API kw_pod *kw_shared_(kw_pod *pod) {
    kw_state_.is_shared = true;
    return pod;
}

KW_API kw_pod *kw_begin_(void) {
    kw_see_cycle_(kw_host_cycle());
    kw_state_.pod.is_current = true;
    kw_state_.is_shared = false;
    return &kw_state_.pod;
}

KW_API kw_pod *kw_begin_at_(void) {
    int64_t known[3];
    kw_state_.node.row = kw_host_at_hand(known);
    kw_state_.node.known = 0;
    kw_state_.node.generation = known[1];
    kw_state_.node.generation_all = known[2];
    kw_see_cycle_((int32_t)known[0]);
    kw_state_.pod.is_current = true;
    kw_state_.is_shared = false;
    return &kw_state_.pod;
}

KW_API kw_node *kw_begin_node_(void) {
    (void)kw_begin_at_();
    return &kw_state_.node;
}

/* Which hook this is, is not known. */
KW_API kw_pod *kw_current_pod(void) { return kw_shared_(kw_begin_()); }
KW_API kw_node *kw_current_node(void) {
    (void)kw_shared_(kw_begin_at_());
    return &kw_state_.node;
}

KW_API kw_pod *kw_target_pod_(void) {
    KW_READ_(&kw_state_.target_buffer, kw_host_target_pod(to, limit));
    kw_state_.target = (kw_pod){kw_content_(&kw_state_.target_buffer), false};
    return &kw_state_.target;
}

KW_API kw_pod *kw_queued_pod_(void) {
    KW_READ_(&kw_state_.target_buffer, kw_host_current_pod(to, limit));
    kw_state_.queued = (kw_pod){kw_content_(&kw_state_.target_buffer), false};
    return &kw_state_.queued;
}

/* ------------------------------------------------------------------ pods */

enum { KW_METADATA_ = 1, KW_SPEC_ = 2, KW_STATUS_ = 3, KW_LABELS_ = 11, KW_ANNOTATIONS_ = 12 };

enum { KW_READ_METADATA_, KW_READ_SPEC_, KW_READ_SPEC_HIGH_, KW_READ_OTHERS_ };
enum { KW_READ_REQUESTS_ = 1, KW_READ_STATUS_ = 2, KW_READ_OBJECT_ = 4 };

/* Reports fields of the pod that a pure plugin reads, a bit each. */
KW_API void kw_reads_(const kw_pod *pod, int place, uint32_t bits) {
    if (!kw_state_.is_pure || !kw_state_.is_shared || !pod->is_current) return;
    uint32_t *reads = kw_state_.reads;
    if ((reads[place] & bits) == bits) return;
    reads[place] |= bits;
    kw_host_pod_read(reads[0], reads[1], reads[2], reads[3]);
}

KW_API kw_message kw_pod_bytes_(kw_pod *pod) {
    if (pod->is_current && !kw_state_.pod_read) {
        KW_READ_(&kw_state_.pod_buffer, kw_host_current_pod(to, limit));
        kw_state_.pod.object = kw_content_(&kw_state_.pod_buffer);
        kw_state_.pod_read = true;
    }
    return pod->is_current ? kw_state_.pod.object : pod->object;
}

KW_API kw_message kw_pod_object(kw_pod *pod) {
    kw_reads_(pod, KW_READ_OTHERS_, KW_READ_OBJECT_);
    return kw_pod_bytes_(pod);
}

KW_API kw_message kw_metadata_with_(kw_pod *pod, uint32_t field) {
    kw_reads_(pod, KW_READ_METADATA_, 1u << field);
    return kw_field(kw_pod_bytes_(pod), KW_METADATA_);
}

/* The whole pod, to read a field of its spec. */
KW_API kw_message kw_spec_with_(kw_pod *pod, uint32_t field) {
    kw_reads_(pod, field < 32 ? KW_READ_SPEC_ : KW_READ_SPEC_HIGH_, 1u << field % 32);
    return kw_pod_bytes_(pod);
}

KW_API kw_message kw_pod_metadata(kw_pod *pod) {
    kw_reads_(pod, KW_READ_METADATA_, ~0u);
    return kw_field(kw_pod_bytes_(pod), KW_METADATA_);
}

KW_API kw_message kw_whole_spec_(kw_pod *pod) {
    kw_message part, object = kw_pod_bytes_(pod), last = kw_field(object, KW_SPEC_);
    kw_buffer_ *whole = &kw_state_.spec;
    uint32_t count = 0, size = 0;
    for (kw_fields_iterator parts = kw_fields(object, KW_SPEC_); kw_next(&parts, &part); count++) size += part.len;
    if (count < 2) return last;
    kw_make_room_(whole, size);
    whole->len = 0;
    for (kw_fields_iterator parts = kw_fields(object, KW_SPEC_); kw_next(&parts, &part);) {
        kw_copy_(whole->at + whole->len, part.at, part.len);
        whole->len += part.len;
    }
    return kw_content_(whole);
}
KW_API kw_message kw_pod_spec(kw_pod *pod) {
    kw_reads_(pod, KW_READ_SPEC_, ~0u);
    kw_reads_(pod, KW_READ_SPEC_HIGH_, ~0u);
    return kw_whole_spec_(pod);
}
KW_API kw_text kw_pod_name(kw_pod *pod) { return kw_field(kw_metadata_with_(pod, 1), 1); }
KW_API kw_text kw_pod_namespace(kw_pod *pod) { return kw_field(kw_metadata_with_(pod, 3), 3); }
KW_API kw_text kw_pod_uid(kw_pod *pod) { return kw_field(kw_metadata_with_(pod, 5), 5); }
KW_API kw_map kw_pod_labels(kw_pod *pod) { return (kw_map){kw_metadata_with_(pod, KW_LABELS_), KW_LABELS_, 0}; }
KW_API kw_text kw_pod_label(kw_pod *pod, const char *key) { return kw_map_get(kw_pod_labels(pod), key); }
KW_API kw_map kw_pod_annotations(kw_pod *pod) {
    return (kw_map){kw_metadata_with_(pod, KW_ANNOTATIONS_), KW_ANNOTATIONS_, 0};
}
KW_API kw_text kw_pod_annotation(kw_pod *pod, const char *key) { return kw_map_get(kw_pod_annotations(pod), key); }
KW_API kw_map kw_pod_node_selector(kw_pod *pod) { return (kw_map){kw_spec_with_(pod, 7), 7, KW_SPEC_}; }
KW_API kw_text kw_pod_node_name(kw_pod *pod) { return kw_field_in_(kw_spec_with_(pod, 10), KW_SPEC_, 10); }
KW_API kw_text kw_pod_scheduler_name(kw_pod *pod) { return kw_field_in_(kw_spec_with_(pod, 19), KW_SPEC_, 19); }
KW_API kw_text kw_pod_priority_class(kw_pod *pod) { return kw_field_in_(kw_spec_with_(pod, 24), KW_SPEC_, 24); }
KW_API int32_t kw_pod_priority(kw_pod *pod) {
    (void)kw_spec_with_(pod, 25);
    return (int32_t)kw_field_int(kw_whole_spec_(pod), 25);
}
KW_API kw_text kw_pod_phase(kw_pod *pod) {
    kw_reads_(pod, KW_READ_OTHERS_, KW_READ_STATUS_);
    return kw_field(kw_field(kw_pod_bytes_(pod), KW_STATUS_), 1);
}
KW_API kw_fields_iterator kw_pod_containers(kw_pod *pod) {
    return kw_fields_in_(kw_spec_with_(pod, 2), KW_SPEC_, 2);
}
KW_API kw_fields_iterator kw_pod_init_containers(kw_pod *pod) {
    return kw_fields_in_(kw_spec_with_(pod, 20), KW_SPEC_, 20);
}
KW_API kw_fields_iterator kw_pod_tolerations(kw_pod *pod) {
    return kw_fields_in_(kw_spec_with_(pod, 22), KW_SPEC_, 22);
}
KW_API kw_text kw_container_name(kw_message container) { return kw_field(container, 1); }
KW_API kw_text kw_container_image(kw_message container) { return kw_field(container, 2); }

KW_API bool kw_next_toleration(kw_fields_iterator *tolerations, kw_taint *toleration) {
    kw_message item;
    if (!kw_next(tolerations, &item)) return false;
    *toleration = (kw_taint){
        .key = kw_field(item, 1), .op = kw_field(item, 2), .value = kw_field(item, 3), .effect = kw_field(item, 4)};
    return true;
}

KW_API bool kw_tolerates(const kw_taint *toleration, const kw_taint *taint) {
    if (toleration->effect.len && !kw_same(toleration->effect, taint->effect)) return false;
    if (toleration->key.len && !kw_same(toleration->key, taint->key)) return false;
    if (kw_equal(toleration->op, "Exists")) return true;
    return (!toleration->op.len || kw_equal(toleration->op, "Equal")) && kw_same(toleration->value, taint->value);
}

KW_API kw_resource kw_resource_of(const char *name) {
    kw_text text = kw_str(name);
    return (kw_resource){kw_host_resource(text.at, text.len), name};
}

/* Room for so many numbers. The numbers of resources are shared by all guests: there may be a thousand. */
KW_API int64_t *kw_numbers_(uint32_t count) {
    kw_make_room_(&kw_state_.numbers, count * 8);
    int64_t *numbers = (int64_t *)(void *)kw_state_.numbers.at;
    for (uint32_t i = 0; i < count; i++) numbers[i] = 0;
    return numbers;
}

KW_API int64_t kw_own_request_(uint32_t place) {
    const uint32_t count = sizeof kw_state_.requests / 8;
    if (place >= count) {
        int64_t *numbers = kw_numbers_(place + 1);
        (void)kw_host_pod_requests(numbers, (place + 1) * 8);
        return numbers[place];
    }
    if (!kw_state_.has_requests) {
        (void)kw_host_pod_requests(kw_state_.requests, count * 8);
        kw_state_.has_requests = true;
    }
    return kw_state_.requests[place];
}

/* A whole number of 128 bits, the lowest part first. */
typedef struct {
    uint32_t parts[4];
} kw_big_;

/* False if the product has over 128 bits. */
KW_API bool kw_big_times_(kw_big_ *number, uint32_t factor) {
    uint64_t carry = 0;
    for (int i = 0; i < 4; i++) {
        carry += (uint64_t)number->parts[i] * factor;
        number->parts[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return !carry;
}

/* Divides by ten; the remainder. */
KW_API uint32_t kw_big_tenth_(kw_big_ *number) {
    uint64_t rest = 0;
    for (int i = 3; i >= 0; i--) {
        rest = rest << 32 | number->parts[i];
        number->parts[i] = (uint32_t)(rest / 10);
        rest %= 10;
    }
    return (uint32_t)rest;
}

/* The multiplier after the digits of a quantity: powers of 1024 and of ten. */
KW_API bool kw_suffix_(kw_text text, uint32_t *binary, int32_t *exponent) {
    static const char letters[] = "KMGTPE", small[] = "num";
    if (!text.len) return true;
    for (uint32_t i = 0; i < 6; i++) {
        if (text.len == 2 && text.at[1] == 'i' && text.at[0] == letters[i]) {
            *binary = i + 1;
            return true;
        }
        if (text.len == 1 && text.at[0] == (i ? letters[i] : 'k')) {
            *exponent = 3 * (int32_t)(i + 1);
            return true;
        }
        if (i < 3 && text.len == 1 && text.at[0] == small[i]) {
            *exponent = 3 * (int32_t)i - 9;
            return true;
        }
    }
    int64_t written;
    if (text.at[0] != 'e' && text.at[0] != 'E') return false;
    if (!kw_parse_int((kw_text){text.at + 1, text.len - 1}, &written)) return false;
    *exponent = (int32_t)(written > 1000 ? 1000 : written < -1000 ? -1000 : written);
    return true;
}

/* A quantity such as 1.5Gi or 250m in whole units, or in milli; rounded away from 0 as in Kubernetes. 0 for any other text. */
KW_API int64_t kw_quantity_(kw_text text, bool milli) {
    uint64_t amount = 0;
    uint32_t at = 0, count = 0, binary = 0;
    int32_t exponent = 0, fraction = 0;
    bool point = false, is_lost = false, negative = text.len && text.at[0] == '-';
    if (text.len && (negative || text.at[0] == '+')) at++;
    for (; at < text.len; at++) {
        char c = text.at[at];
        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (c < '0' || c > '9') break;
        count++;
        if (amount <= (UINT64_MAX - 9) / 10) {
            amount = amount * 10 + (uint64_t)(c - '0');
            fraction += point;
        } else { /* more digits than 64 bits have: their number counts, and whether they are 0 */
            is_lost |= c != '0';
            fraction -= !point;
        }
    }
    if (!count || !kw_suffix_((kw_text){text.at + at, text.len - at}, &binary, &exponent)) return 0;
    exponent += (milli ? 3 : 0) - fraction;
    kw_big_ number = {{(uint32_t)amount, (uint32_t)(amount >> 32), 0, 0}};
    bool fits = true;
    for (; binary; binary--) fits &= kw_big_times_(&number, 1024);
    for (; exponent > 0 && amount && fits; exponent--) fits = kw_big_times_(&number, 10);
    for (; exponent < 0; exponent++) {
        if (!(number.parts[0] | number.parts[1] | number.parts[2] | number.parts[3])) break;
        is_lost |= kw_big_tenth_(&number) != 0;
    }
    uint64_t value = (uint64_t)number.parts[1] << 32 | number.parts[0];
    if (!fits || number.parts[2] || number.parts[3] || value > INT64_MAX) value = INT64_MAX;
    if (is_lost && value < INT64_MAX) value++;
    return negative ? -(int64_t)value : (int64_t)value;
}

KW_API int64_t kw_sum_(int64_t one, int64_t other) {
    int64_t sum;
    return __builtin_add_overflow(one, other, &sum) ? (one < 0 ? INT64_MIN : INT64_MAX) : sum;
}

KW_API int64_t kw_requests_in_(kw_message holder, uint32_t number, kw_resource resource) {
    kw_text found;
    if (!kw_map_find((kw_map){holder, number, 0}, kw_str(resource.name), &found)) return 0;
    return kw_quantity_(kw_field(found, 1), resource.id == 0);
}

KW_API int64_t kw_pod_request(kw_pod *pod, kw_resource resource) {
    if (resource.id == 3) return 1;
    if (pod->is_current) {
        kw_reads_(pod, KW_READ_OTHERS_, KW_READ_REQUESTS_);
        return resource.id < 0 ? 0 : kw_own_request_(2 + (uint32_t)resource.id);
    }
    int64_t running = 0, sidecars = 0, highest = 0;
    kw_message container;
    for (kw_fields_iterator items = kw_pod_containers(pod); kw_next(&items, &container);) {
        running = kw_sum_(running, kw_requests_in_(kw_field(container, 8), 2, resource));
    }
    for (kw_fields_iterator items = kw_pod_init_containers(pod); kw_next(&items, &container);) {
        int64_t request = kw_requests_in_(kw_field(container, 8), 2, resource);
        int64_t now = kw_sum_(sidecars, request);
        if (kw_equal(kw_field(container, 24), "Always")) sidecars = now;
        if (now > highest) highest = now;
    }
    int64_t total = kw_sum_(running, sidecars);
    if (total < highest) total = highest;
    kw_message spec = kw_whole_spec_(pod), of_pod = kw_field(spec, 40);
    kw_text set;
    bool has_level = resource.id < 2 || kw_starts_with(kw_str(resource.name), "hugepages-");
    if (has_level && kw_map_find((kw_map){of_pod, 2, 0}, kw_str(resource.name), &set)) {
        total = kw_quantity_(kw_field(set, 1), resource.id == 0);
    }
    return kw_sum_(total, kw_requests_in_(spec, 32, resource));
}

KW_API int64_t kw_pod_non_zero_request(kw_pod *pod, kw_resource resource) {
    if (!pod->is_current || resource.id < 0 || resource.id > 1) return kw_pod_request(pod, resource);
    kw_reads_(pod, KW_READ_OTHERS_, KW_READ_REQUESTS_);
    return kw_own_request_((uint32_t)resource.id);
}

/* ------------------------------------------------------------------ nodes */

KW_API kw_text kw_node_name(kw_node *node) {
    char *to = kw_state_.node_name;
    const uint32_t limit = sizeof kw_state_.node_name;
    uint32_t len = kw_host_node_name(node->row, to, limit);
    return (kw_text){to, len <= limit ? len : 0};
}

KW_API kw_message kw_node_object(kw_node *node) {
    kw_guest_state_ *all = &kw_state_;
    if (node->row < 0) return (kw_text){all->object.at, 0};
    if (!all->has_object || all->object_row != node->row || all->object_generation != node->generation) {
        KW_READ_(&all->object, kw_host_node_object(node->row, to, limit));
        all->object_row = node->row;
        all->object_generation = node->generation;
        all->has_object = true;
    }
    return kw_content_(&all->object);
}

KW_API kw_message kw_node_part_(kw_node *node, uint32_t number) { return kw_field(kw_node_object(node), number); }
KW_API kw_map kw_node_labels(kw_node *node) { return (kw_map){kw_node_part_(node, KW_METADATA_), KW_LABELS_, 0}; }
KW_API kw_text kw_node_label(kw_node *node, const char *key) { return kw_map_get(kw_node_labels(node), key); }
KW_API kw_map kw_node_annotations(kw_node *node) {
    return (kw_map){kw_node_part_(node, KW_METADATA_), KW_ANNOTATIONS_, 0};
}
KW_API kw_text kw_node_annotation(kw_node *node, const char *key) {
    return kw_map_get(kw_node_annotations(node), key);
}
KW_API bool kw_node_unschedulable(kw_node *node) { return kw_field_int(kw_node_part_(node, KW_SPEC_), 4) != 0; }
KW_API kw_text kw_node_provider_id(kw_node *node) { return kw_field(kw_node_part_(node, KW_SPEC_), 3); }
KW_API kw_fields_iterator kw_node_taints(kw_node *node) { return kw_fields(kw_node_part_(node, KW_SPEC_), 5); }

KW_API bool kw_next_taint(kw_fields_iterator *taints, kw_taint *taint) {
    kw_message item;
    if (!kw_next(taints, &item)) return false;
    *taint = (kw_taint){.key = kw_field(item, 1), .value = kw_field(item, 2), .effect = kw_field(item, 3)};
    return true;
}

KW_API kw_text kw_node_condition(kw_node *node, const char *type) {
    kw_message status = kw_node_part_(node, KW_STATUS_), item;
    for (kw_fields_iterator items = kw_fields(status, 4); kw_next(&items, &item);) {
        if (kw_equal(kw_field(item, 1), type)) return kw_field(item, 2);
    }
    return (kw_text){status.at, 0};
}

KW_API int64_t kw_node_image_size(kw_node *node, kw_text image) {
    kw_message item, name;
    for (kw_fields_iterator items = kw_fields(kw_node_part_(node, KW_STATUS_), 8); kw_next(&items, &item);) {
        for (kw_fields_iterator names = kw_fields(item, 1); kw_next(&names, &name);) {
            if (kw_same(name, image)) return kw_field_int(item, 2);
        }
    }
    return 0;
}

KW_API int64_t kw_number_(kw_node *node, uint32_t place) {
    if (node->row < 0) return 0;
    if (place >= KW_MOST_NUMBERS) {
        int64_t *numbers = kw_numbers_(place + 1);
        (void)kw_host_node_info(node->row, numbers, (place + 1) * 8);
        return numbers[place];
    }
    if (place >= node->known) {
        node->known = kw_host_node_info(node->row, node->numbers, KW_MOST_NUMBERS * 8) / 8;
        if (node->known > KW_MOST_NUMBERS) node->known = KW_MOST_NUMBERS;
    }
    return place < node->known ? node->numbers[place] : 0;
}

KW_API int64_t kw_node_allocatable(kw_node *node, kw_resource resource) {
    return resource.id < 0 ? 0 : kw_number_(node, 4 + 2 * (uint32_t)resource.id);
}
KW_API int64_t kw_node_requested(kw_node *node, kw_resource resource) {
    return resource.id < 0 ? 0 : kw_number_(node, 5 + 2 * (uint32_t)resource.id);
}
KW_API int64_t kw_node_free(kw_node *node, kw_resource resource) {
    return kw_node_allocatable(node, resource) - kw_node_requested(node, resource);
}
KW_API int64_t kw_node_non_zero_requested(kw_node *node, kw_resource resource) {
    return resource.id < 2 && resource.id >= 0 ? kw_number_(node, 2 + (uint32_t)resource.id)
                                               : kw_node_requested(node, resource);
}
KW_API int64_t kw_node_pod_count(kw_node *node) { return kw_node_requested(node, KW_PODS); }

KW_API uint32_t kw_node_rows(void) { return (uint32_t)kw_host_node_rows(); }

KW_API bool kw_node_at(int32_t row, kw_node *node) {
    node->row = row;
    node->known = 0;
    if (row < 0 || !kw_number_(node, 0)) {
        node->row = -1;
        return false;
    }
    node->generation = node->numbers[0];
    node->generation_all = node->numbers[1];
    return true;
}

KW_API bool kw_node_named(kw_text name, kw_node *node) {
    return kw_node_at(kw_host_node_row(name.at, name.len), node);
}

KW_API kw_fields_iterator kw_node_pods(kw_node *node) {
    KW_READ_(&kw_state_.list, kw_host_node_pods(node->row, to, limit));
    return kw_fields(kw_content_(&kw_state_.list), 2);
}

KW_API bool kw_next_pod(kw_fields_iterator *pods, kw_pod *pod) {
    kw_message object;
    if (!kw_next(pods, &object)) return false;
    *pod = (kw_pod){object, false};
    return true;
}

KW_API int64_t kw_cached(kw_node_cache *cache, kw_node *node, int64_t (*compute)(kw_node *node)) {
    if (node->row < 0) return compute(node);
    uint32_t row = (uint32_t)node->row;
    if (row >= cache->count) {
        uint32_t count = row < 64 ? 128 : row * 2;
        kw_cache_entry *entries = kw_alloc(count * (uint32_t)sizeof *entries);
        for (uint32_t i = 0; i < count; i++) {
            entries[i] = i < cache->count ? cache->entries[i] : (kw_cache_entry){0, INT64_MIN};
        }
        cache->entries = entries;
        cache->count = count;
    }
    kw_cache_entry *entry = &cache->entries[row];
    if (entry->generation != node->generation) {
        int64_t generation = node->generation;
        entry->value = compute(node);
        entry->generation = generation;
    }
    return entry->value;
}

/* ------------------------------------------------------------------ scheduler */

KW_API int64_t kw_now(void) { return kw_host_now(); }
KW_API bool kw_logs(int32_t severity) { return severity >= kw_host_severity(); }

KW_API void kw_log(int32_t severity, const char *format, ...) {
    if (!kw_logs(severity)) return;
    KW_FORMAT_(note, line);
    kw_host_log(severity, line.at, line.len);
}

KW_API void kw_log_pairs(int32_t severity, const char *message, const kw_pair *pairs, uint32_t count) {
    if (!kw_logs(severity)) return;
    kw_writer_ to = {kw_state_.json, 0, sizeof kw_state_.json - 1};
    for (uint32_t i = 0; i < 2 * count; i++) {
        kw_text text = i % 2 ? pairs[i / 2].value : pairs[i / 2].key;
        for (uint32_t n = 0; n < text.len; n++) kw_put_(&to, (kw_text){text.at[n] ? text.at + n : "?", 1});
        kw_put_(&to, (kw_text){"", 1}); /* the NUL of the literal */
    }
    if (to.len && to.at[to.len - 1]) to.at[to.len++] = 0;
    kw_text line = kw_str(message);
    kw_host_logs(severity, line.at, line.len, to.at, to.len);
}

KW_API kw_reference kw_pod_reference(kw_pod *pod) {
    return (kw_reference){"Pod", kw_pod_name(pod), kw_pod_namespace(pod), kw_pod_uid(pod)};
}

KW_API kw_reference kw_node_reference(kw_node *node) {
    kw_message metadata = kw_node_part_(node, KW_METADATA_);
    return (kw_reference){"Node", kw_field(metadata, 1), {"", 0}, kw_field(metadata, 5)};
}

KW_API void kw_put_json_(kw_writer_ *to, const char *before, kw_text text) {
    static const char hex[] = "0123456789abcdef";
    kw_put_(to, kw_str(before));
    kw_put_(to, kw_str("\""));
    for (uint32_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (c < 0x20) {
            kw_put_(to, (kw_text){(char[]){'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]}, 6});
        } else {
            if (c == '"' || c == '\\') kw_put_(to, kw_str("\\"));
            kw_put_(to, (kw_text){text.at + i, 1});
        }
    }
    kw_put_(to, kw_str("\""));
}

KW_API void kw_event(
    kw_reference regarding, const char *type, const char *reason, const char *action, const char *format, ...) {
    KW_FORMAT_(note, note);
    kw_writer_ to = {kw_state_.json, 0, sizeof kw_state_.json};
    kw_put_json_(&to, "{\"RegardingReference\":{\"Kind\":", kw_str(regarding.kind));
    kw_put_json_(&to, ",\"APIVersion\":", kw_str("v1"));
    kw_put_json_(&to, ",\"Name\":", regarding.name);
    kw_put_json_(&to, ",\"Namespace\":", regarding.namespace_);
    kw_put_json_(&to, ",\"UID\":", regarding.uid);
    kw_put_json_(&to, ",\"ResourceVersion\":", kw_str(""));
    kw_put_json_(&to, "},\"RelatedReference\":{},\"Eventtype\":", kw_str(type));
    kw_put_json_(&to, ",\"Reason\":", kw_str(reason));
    kw_put_json_(&to, ",\"Action\":", kw_str(action));
    kw_put_json_(&to, ",\"Note\":", note);
    kw_put_(&to, kw_str("}"));
    kw_host_event(to.at, to.len);
}

KW_API kw_fields_iterator kw_waiting_pods(void) {
    KW_READ_(&kw_state_.list, kw_host_waiting_pods(to, limit));
    return kw_fields(kw_content_(&kw_state_.list), 2);
}

KW_API bool kw_allow_waiting_pod(kw_text uid) { return kw_host_allow_waiting_pod(uid.at, uid.len) != 0; }

KW_API bool kw_reject_waiting_pod(kw_text uid, const char *format, ...) {
    KW_FORMAT_(note, reason);
    return kw_host_reject_waiting_pod(uid.at, uid.len, reason.at, reason.len) != 0;
}

KW_API void kw_annotate(kw_text key, kw_text value) { kw_host_annotation(key.at, key.len, value.at, value.len); }

KW_API void kw_sign_all_pods(void) { kw_host_pod_signature(1, 0); }

KW_API uint64_t kw_hash_int(uint64_t hash, int64_t number) {
    hash ^= (uint64_t)number;
    hash ^= hash >> 33;
    hash *= 0xff51afd7ed558ccdull;
    hash ^= hash >> 33;
    hash *= 0xc4ceb9fe1a85ec53ull;
    hash ^= hash >> 33;
    return hash ? hash : 1;
}

KW_API uint64_t kw_hash_text(uint64_t hash, kw_text text) {
    hash = kw_hash_int(hash, text.len);
    for (uint32_t at = 0; at < text.len; at += 8) {
        uint64_t word = 0;
        for (uint32_t i = 0; i < 8 && at + i < text.len; i++) word |= (uint64_t)(uint8_t)text.at[at + i] << (8 * i);
        hash = kw_hash_int(hash, (int64_t)word);
    }
    return hash;
}

/* ------------------------------------------------------------------ configuration */

typedef struct {
    kw_text rest;
    const char *problem;
} kw_json_;

KW_API char kw_peek_(kw_json_ *json) {
    while (json->rest.len && (*json->rest.at == ' ' || *json->rest.at == '\n' || *json->rest.at == '\t' ||
                              *json->rest.at == '\r')) {
        json->rest.at++;
        json->rest.len--;
    }
    return json->rest.len ? *json->rest.at : 0;
}

KW_API bool kw_json_fails_(kw_json_ *json, const char *problem) {
    if (!json->problem) json->problem = json->rest.len ? problem : "the JSON is cut off";
    return false;
}

KW_API bool kw_take_(kw_json_ *json, char wanted) {
    if (kw_peek_(json) != wanted) return false;
    json->rest.at++;
    json->rest.len--;
    return true;
}

KW_API bool kw_json_word_(kw_json_ *json, const char *word) {
    (void)kw_peek_(json);
    if (!kw_starts_with(json->rest, word)) return false;
    uint32_t len = kw_str(word).len;
    json->rest.at += len;
    json->rest.len -= len;
    return true;
}

KW_API int32_t kw_hex4_(kw_text text) {
    int32_t value = 0;
    if (text.len < 4) return -1;
    for (int i = 0; i < 4; i++) {
        char c = text.at[i];
        int32_t digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

KW_API uint32_t kw_put_utf8_(char *to, uint32_t c) {
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    uint32_t count = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (uint32_t i = count - 1; i > 0; i--) {
        to[i] = (char)(0x80 | (c & 0x3f));
        c >>= 6;
    }
    to[0] = (char)((0xf00 >> count & 0xff) | c);
    return count;
}

/* A string, in memory of its own. */
KW_API bool kw_json_text_(kw_json_ *json, kw_text *text) {
    if (!kw_take_(json, '"')) return kw_json_fails_(json, "the JSON is not valid");
    uint32_t size = 0, len = 0;
    while (size < json->rest.len && json->rest.at[size] != '"') size += json->rest.at[size] == '\\' ? 2 : 1;
    char *to = kw_alloc(size + 1); /* no escape is shorter than its character */
    while (json->rest.len) {
        char c = *json->rest.at++;
        json->rest.len--;
        if (c == '"') {
            *text = (kw_text){to, len};
            return true;
        }
        if ((unsigned char)c < 0x20) return kw_json_fails_(json, "the JSON is not valid");
        if (c != '\\') {
            to[len++] = c;
            continue;
        }
        if (!json->rest.len) break;
        c = *json->rest.at++;
        json->rest.len--;
        if (c == 'u') {
            int32_t code = kw_hex4_(json->rest);
            if (code < 0) return kw_json_fails_(json, "the JSON is not valid");
            json->rest.at += 4;
            json->rest.len -= 4;
            if (code >= 0xd800 && code < 0xdc00 && kw_starts_with(json->rest, "\\u")) {
                int32_t low = kw_hex4_((kw_text){json->rest.at + 2, json->rest.len - 2});
                if (low >= 0xdc00 && low < 0xe000) {
                    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                    json->rest.at += 6;
                    json->rest.len -= 6;
                }
            }
            if (code >= 0xd800 && code < 0xe000) code = 0xfffd;
            len += kw_put_utf8_(to + len, (uint32_t)code);
            continue;
        }
        char plain = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == 'b' ? '\b' : c == 'f' ? '\f' : c;
        if (plain == c && c != '"' && c != '\\' && c != '/') return kw_json_fails_(json, "the JSON is not valid");
        to[len++] = plain;
    }
    return kw_json_fails_(json, "the JSON is not valid");
}

KW_API bool kw_json_int_(kw_json_ *json, int64_t *number, bool *is_whole) {
    (void)kw_peek_(json);
    kw_text digits = {json->rest.at, 0};
    while (digits.len < json->rest.len) {
        char c = digits.at[digits.len];
        if (!((c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E')) break;
        digits.len++;
    }
    json->rest.at += digits.len;
    json->rest.len -= digits.len;
    *is_whole = kw_parse_int(digits, number);
    return digits.len > 0;
}

KW_API const char *kw_json_kind_(char first) {
    if (first == '"') return "a text";
    if (first == '[') return "a list";
    if (first == '{') return "an object";
    if (first == 't' || first == 'f') return "true or false";
    if (first == 'n') return "null";
    return "a number";
}

KW_API bool kw_json_texts_(kw_json_ *json, const char *name, kw_texts *list) {
    enum { KW_MOST = 1024 };
    kw_texts made = {kw_alloc(KW_MOST * sizeof(kw_text)), 0};
    (void)kw_take_(json, '[');
    if (!kw_take_(json, ']')) {
        do {
            char first = kw_peek_(json);
            if (first && first != '"') {
                json->problem = kw_keep(kw_format("%s: expected a text, got %s", name, kw_json_kind_(first))).at;
                return false;
            }
            if (made.count == KW_MOST) {
                json->problem = kw_keep(kw_format("%s: more than %d texts", name, KW_MOST)).at;
                return false;
            }
            if (!kw_json_text_(json, &made.at[made.count])) return false;
            made.count++;
        } while (kw_take_(json, ','));
        if (!kw_take_(json, ']')) return kw_json_fails_(json, "the JSON is not valid");
    }
    *list = made;
    return true;
}

KW_API bool kw_json_setting_(kw_json_ *json, const kw_setting *setting) {
    static const char *const kinds[] = {"true or false", "an integer", "a text", "a list"};
    char first = kw_peek_(json);
    if (!first) return kw_json_fails_(json, "");
    const char *got = kw_json_kind_(first);
    bool is_whole = true;
    if (setting->kind == KW_STRING && first == '"') return kw_json_text_(json, setting->place);
    if (setting->kind == KW_STRINGS && first == '[') return kw_json_texts_(json, setting->name, setting->place);
    if (setting->kind == KW_BOOL && (kw_json_word_(json, "true") || kw_json_word_(json, "false"))) {
        *(bool *)setting->place = first == 't';
        return true;
    }
    if (setting->kind == KW_INT && (first == '-' || (first >= '0' && first <= '9'))) {
        if (kw_json_int_(json, setting->place, &is_whole) && is_whole) return true;
        got = "another number";
    }
    json->problem = kw_keep(kw_format("%s: expected %s, got %s", setting->name, kinds[setting->kind], got)).at;
    return false;
}

KW_API bool kw_json_object_(kw_json_ *json, const kw_setting *settings, uint32_t count) {
    if (!kw_take_(json, '{')) return kw_json_fails_(json, "expected an object");
    if (kw_take_(json, '}')) return true;
    do {
        kw_text name;
        (void)kw_peek_(json);
        if (!kw_json_text_(json, &name)) return false;
        if (!kw_take_(json, ':')) return kw_json_fails_(json, "the JSON is not valid");
        uint32_t i = 0;
        while (i < count && !kw_equal(name, settings[i].name)) i++;
        if (i == count) {
            json->problem = kw_keep(kw_format("unknown field \"%t\"", name)).at;
            return false;
        }
        if (!kw_json_setting_(json, &settings[i])) return false;
    } while (kw_take_(json, ','));
    (void)kw_peek_(json);
    return kw_take_(json, '}') || kw_json_fails_(json, "the JSON is not valid");
}

KW_API kw_status kw_read_config(const kw_setting *settings, uint32_t count) {
    kw_json_ json = {kw_config(), 0};
    if (!kw_peek_(&json)) return KW_SUCCESS;
    bool is_valid = kw_json_object_(&json, settings, count);
    if (is_valid && kw_peek_(&json)) is_valid = kw_json_fails_(&json, "more than one value");
    return is_valid ? KW_SUCCESS : kw_failed("config: %s", json.problem);
}

/* ------------------------------------------------------------------ hooks */

KW_API void kw_started(kw_status status) {
    if (status == KW_SUCCESS) return;
    kw_text text = kw_state_.reason.len ? kw_state_.reason : kw_str("the plugin refuses to start");
#ifdef __wasm__
    struct {
        const char *at;
        uint32_t len;
    } pieces[2] = {{text.at, text.len}, {"\n", 1}};
    uint32_t written;
    (void)kw_host_fd_write(2, pieces, 2, &written);
    kw_host_exit(1);
#else
    kw_host_refuse(text.at, text.len);
#endif
}

KW_API void kw_register_event(uint32_t resource, uint32_t actions) {
    if (kw_state_.event_count == 64) return;
    kw_state_.events[2 * kw_state_.event_count] = resource;
    kw_state_.events[2 * kw_state_.event_count++ + 1] = actions;
}

KW_API void kw_send_events_(void) {
    kw_host_cluster_events(kw_state_.events, kw_state_.event_count * 8);
    kw_state_.event_count = 0;
}

KW_API kw_change *kw_read_change_(void) {
    KW_READ_(&kw_state_.old_object, kw_host_event_old(to, limit));
    KW_READ_(&kw_state_.new_object, kw_host_event_new(to, limit));
    kw_state_.change = (kw_change){(uint32_t)kw_host_event_resource(), (uint32_t)kw_host_event_action(),
                                   kw_content_(&kw_state_.old_object), kw_content_(&kw_state_.new_object)};
    return &kw_state_.change;
}

KW_API kw_key *kw_new_key_(void) {
    kw_state_.key.len = 0;
    return &kw_state_.key;
}

KW_API int32_t kw_send_key_(void) {
    kw_host_sort_key(kw_state_.key.bytes, kw_state_.key.len);
    return KW_SUCCESS;
}

KW_API void kw_key_byte_(kw_key *key, uint8_t byte) {
    if (key->len < sizeof key->bytes) key->bytes[key->len++] = byte;
}

KW_API void kw_key_bits_(kw_key *key, uint64_t bits) {
    for (int shift = 56; shift >= 0; shift -= 8) kw_key_byte_(key, (uint8_t)(bits >> shift));
}

KW_API void kw_key_int(kw_key *key, int64_t number) { kw_key_bits_(key, (uint64_t)number ^ 1ull << 63); }
KW_API void kw_key_int_desc(kw_key *key, int64_t number) { kw_key_bits_(key, ~((uint64_t)number ^ 1ull << 63)); }

KW_API void kw_key_text(kw_key *key, kw_text text) {
    for (uint32_t i = 0; i < text.len; i++) {
        kw_key_byte_(key, (uint8_t)text.at[i]);
        if (!text.at[i]) kw_key_byte_(key, 0xff);
    }
    kw_key_byte_(key, 0);
    kw_key_byte_(key, 0);
}

KW_API kw_pod *kw_begin_selection_(void) {
    kw_state_.names.len = 0;
    kw_state_.has_cycle = false; /* prefilter begins a cycle, also of the same pod */
    return kw_begin_();
}

KW_API void kw_select_node(kw_text name) {
    kw_buffer_ *names = &kw_state_.names;
    uint32_t needed = names->len + name.len + 1;
    if (needed > names->limit) {
        const char *before = names->at;
        kw_make_room_(names, needed);
        kw_copy_(names->at, before, names->len);
    }
    kw_copy_(names->at + names->len, name.at, name.len);
    names->len = needed;
    names->at[needed - 1] = 0;
}

KW_API int32_t kw_send_nodes_(kw_status status) {
    if (status == KW_SUCCESS && kw_state_.names.len) kw_host_node_names(kw_state_.names.at, kw_state_.names.len);
    return status;
}

KW_API kw_statuses *kw_read_statuses_(void) {
    KW_READ_(&kw_state_.rows, kw_host_node_statuses(to, limit));
    kw_state_.statuses = (kw_statuses){(const int32_t *)(void *)kw_state_.rows.at, kw_state_.rows.len / 8};
    kw_state_.is_nominated = false;
    return &kw_state_.statuses;
}

KW_API void kw_nominate(kw_text name) {
    kw_state_.is_nominated = true;
    kw_host_nominated_node(name.at, name.len);
}

KW_API int64_t kw_nominated_(kw_status status) {
    return (kw_state_.is_nominated ? 1ll << 32 : 0) | (int64_t)(uint32_t)status;
}

KW_API kw_nodes *kw_new_nodes_(void) {
    kw_state_.nodes.is_read = false;
    return &kw_state_.nodes;
}

KW_API uint32_t kw_nodes_count(kw_nodes *nodes) {
    if (!nodes->is_read) {
        KW_READ_(&kw_state_.rows, kw_host_feasible_rows(to, limit));
        *nodes = (kw_nodes){(const int32_t *)(void *)kw_state_.rows.at, kw_state_.rows.len / 4, true};
    }
    return nodes->count;
}

KW_API int32_t kw_nodes_row(kw_nodes *nodes, uint32_t place) {
    return place < kw_nodes_count(nodes) ? nodes->rows[place] : -1;
}

KW_API int64_t *kw_new_score_(void) {
    kw_state_.score = 0;
    return &kw_state_.score;
}

KW_API int64_t kw_score_result(int64_t score, kw_status status) {
    if (status == KW_SUCCESS && score != (int32_t)score) status = kw_failed("a score must fit into 32 bits");
    return (int64_t)((uint64_t)score << 32 | (uint32_t)status);
}

KW_API int64_t kw_scored_(kw_status status) { return kw_score_result(kw_state_.score, status); }

KW_API kw_scores *kw_read_scores_(void) {
    (void)kw_new_nodes_();
    KW_READ_(&kw_state_.scores, kw_host_node_scores(to, limit));
    kw_state_.score_list = (kw_scores){(int64_t *)(void *)kw_state_.scores.at, kw_state_.scores.len / 8};
    return &kw_state_.score_list;
}

KW_API int32_t kw_scores_row(kw_scores *scores, uint32_t place) {
    return place < scores->count ? kw_nodes_row(&kw_state_.nodes, place) : -1;
}

KW_API int32_t kw_send_scores_(kw_status status) {
    if (status == KW_SUCCESS) kw_host_send_scores(kw_state_.score_list.values, kw_state_.score_list.count * 8);
    return status;
}

KW_API void kw_normalize(kw_scores *scores, bool reverse) {
    for (uint32_t i = 0; i < scores->count; i++) {
        if (scores->values[i] < 0) scores->values[i] = 0;
    }
    kw_apply_normalization(KW_PROPORTIONAL, reverse, KW_MAX_SCORE, scores->values, scores->count);
}

KW_API void kw_apply_normalization(
    kw_normalization method, bool reverse, int32_t maximum, int64_t *scores, uint32_t count) {
    int64_t highest = 0, lowest = 0;
    if (method == KW_MIN_MAX && count) highest = lowest = scores[0];
    for (uint32_t i = 0; i < count; i++) {
        if (scores[i] > highest) highest = scores[i];
        if (method == KW_MIN_MAX && scores[i] < lowest) lowest = scores[i];
    }
    if (method == KW_KEEP_SCORES || (method == KW_PROPORTIONAL && !highest && !reverse)) return;
    int64_t whole = highest - lowest;
    for (uint32_t i = 0; i < count; i++) {
        int64_t share = whole ? maximum * (scores[i] - lowest) / whole : method == KW_MIN_MAX ? maximum : 0;
        scores[i] = reverse && (whole || method == KW_PROPORTIONAL) ? maximum - share : share;
    }
}

KW_API void kw_normalize_scores(kw_normalization method, bool reverse, int32_t maximum) {
    kw_host_normalization(method, reverse, maximum);
}

KW_API void kw_declare_pure(void) {
    kw_state_.is_pure = true;
    kw_host_pure(1);
}

KW_API uint32_t *kw_new_timeout_(void) {
    kw_state_.timeout = 0;
    return &kw_state_.timeout;
}

KW_API int64_t kw_permit_result(kw_status status, uint32_t timeout_ms) {
    return (int64_t)((uint64_t)(uint32_t)status << 32 | timeout_ms);
}

KW_API int64_t kw_permitted_(kw_status status) { return kw_permit_result(status, kw_state_.timeout); }

/* ------------------------------------------------------------------ cycle state */

KW_API void *kw_cycle_state_(uint32_t size) {
    if (!kw_state_.first_state) kw_state_.first_state = kw_alloc(size);
    if (!kw_state_.cycle_state) {
        for (uint32_t i = 0; i < size; i++) ((char *)kw_state_.first_state)[i] = 0;
        kw_state_.cycle_state = kw_state_.first_state;
    }
    return kw_state_.cycle_state;
}

KW_API kw_state_copy_ *kw_state_numbered_(int32_t number) {
    for (uint32_t i = 0; i < kw_state_.copy_count; i++) {
        if (kw_state_.copies[i].number == number) return &kw_state_.copies[i];
    }
    return 0;
}

KW_API void kw_clone_state_(uint32_t size) {
    (void)kw_begin_();
    kw_state_copy_ *copy = kw_state_numbered_(0);
    if (!copy) {
        uint32_t count = kw_state_.copy_count ? 2 * kw_state_.copy_count : 8;
        kw_state_copy_ *copies = kw_alloc(count * (uint32_t)sizeof *copies);
        for (uint32_t i = 0; i < count; i++) {
            copies[i] = i < kw_state_.copy_count ? kw_state_.copies[i] : (kw_state_copy_){0, kw_alloc(size)};
        }
        copy = &copies[kw_state_.copy_count];
        kw_state_.copies = copies;
        kw_state_.copy_count = count;
    }
    copy->number = kw_host_state();
    kw_copy_(copy->value, kw_cycle_state_(size), size);
}

KW_API void kw_select_state_(void) {
    (void)kw_begin_();
    int32_t number = kw_host_state();
    kw_state_copy_ *copy = number ? kw_state_numbered_(number) : 0;
    if (!number) kw_state_.cycle_state = kw_state_.first_state;
    if (copy) kw_state_.cycle_state = copy->value;
}

KW_API void kw_drop_state_(void) {
    (void)kw_begin_();
    int32_t number = kw_host_state();
    kw_state_copy_ *copy = number ? kw_state_numbered_(number) : 0;
    if (copy) copy->number = 0;
}

#endif /* KW_DECLARE_ONLY */

#endif
