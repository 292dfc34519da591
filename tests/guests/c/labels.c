// Labels: a node needs the label that the config names, and every label it has is worth one point.
//
//   filter  status 2 unless the node has a label with the key given as guestConfig; no config, no demand
//   score   the number of the node's labels
//
// Freestanding C: no libc. The node is read as protobuf, straight from the buffer.
#include <stdint.h>

#define IMPORT(module, name) __attribute__((import_module(module), import_name(name)))
#define EXPORT(name) __attribute__((export_name(name)))

IMPORT("k8s.io/scheduler", "get_config") uint32_t get_config(void *buffer, uint32_t limit);
IMPORT("k8s.io/scheduler", "currentNodeName") uint32_t current_node_name(void *buffer, uint32_t limit);
IMPORT("k8s.io/api", "node") uint32_t node(const void *name, uint32_t length, void *buffer, uint32_t limit);
IMPORT("k8s.io/scheduler", "result.status_reason") void status_reason(const void *text, uint32_t length);

enum { SUCCESS = 0, ERROR = 1, UNSCHEDULABLE = 2 };
enum { PAGE = 65536, KEY_LIMIT = 317 }; // a label's key: 253 bytes, a slash, 63 bytes

typedef struct {
    const uint8_t *at, *end;
} Bytes;

// The buffer for the node is all memory behind the program, and grows with it.
extern uint8_t __heap_base;
static uint8_t *const buffer = &__heap_base;

static uint32_t room(void) { return __builtin_wasm_memory_size(0) * PAGE - (uint32_t)(uintptr_t)buffer; }

static Bytes current_node(void) {
    uint8_t name[256];
    uint32_t name_length = current_node_name(name, sizeof name);
    if (name_length > sizeof name)
        __builtin_trap();
    uint32_t length = node(name, name_length, buffer, room());
    if (length > room()) { // nothing was written: make room, ask again
        if (__builtin_wasm_memory_grow(0, (length - room()) / PAGE + 1) == (uintptr_t)-1)
            __builtin_trap();
        node(name, name_length, buffer, room());
    }
    return (Bytes){buffer, buffer + length};
}

static uint32_t varint(Bytes *from) {
    uint32_t value = 0;
    for (uint32_t shift = 0; from->at < from->end; shift += 7) {
        uint8_t byte = *from->at++;
        if (shift < 32)
            value |= (uint32_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            break;
    }
    return value;
}

// The next field `number` that is a string or a message; {0, 0} when there is none.
static Bytes next(Bytes *message, uint32_t number) {
    while (message->at < message->end) {
        uint32_t key = varint(message), size = 0;
        switch (key & 7) {
        case 0: varint(message); break;
        case 1: size = 8; break;
        case 2: size = varint(message); break;
        case 5: size = 4; break;
        default: __builtin_trap();
        }
        if (size > (uint32_t)(message->end - message->at))
            __builtin_trap();
        Bytes value = {message->at, message->at + size};
        message->at = value.end;
        if (key == (number << 3 | 2))
            return value;
    }
    return (Bytes){0, 0};
}

static int same(Bytes one, Bytes other) {
    if (one.end - one.at != other.end - other.at)
        return 0;
    while (one.at < one.end)
        if (*one.at++ != *other.at++)
            return 0;
    return 1;
}

// Node.metadata (1) is an ObjectMeta, its labels (11) are entries of a key (1) and a value (2).
static Bytes metadata(void) {
    Bytes whole = current_node();
    return next(&whole, 1);
}

EXPORT("filter") int32_t filter(void) {
    static uint8_t reason[21 + KEY_LIMIT] = "node lacks the label ";
    uint8_t *key = reason + 21;
    uint32_t length = get_config(key, KEY_LIMIT);
    if (length == 0)
        return SUCCESS;
    if (length > KEY_LIMIT) {
        static const char complaint[] = "the config is no label key";
        status_reason(complaint, sizeof complaint - 1);
        return ERROR;
    }
    Bytes meta = metadata(), wanted = {key, key + length};
    for (Bytes label; (label = next(&meta, 11)).at;)
        if (same(next(&label, 1), wanted))
            return SUCCESS;
    status_reason(reason, 21 + length);
    return UNSCHEDULABLE;
}

EXPORT("score") int64_t score(void) {
    Bytes meta = metadata();
    int64_t labels = 0;
    while (next(&meta, 11).at)
        labels++;
    return labels << 32 | SUCCESS;
}
