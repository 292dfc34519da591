// garbage: copies the name of each node into a kilobyte of scratch memory, which is free again after the call.
#include "kubewasp.h"

enum { PIECES = 4, LENGTH = 256 };

static char arena[PIECES * LENGTH];
static uint32_t used;

static char *take(uint32_t size) {
    used += size;
    return arena + used - size;
}

KW_SCORE(pod, node, score) {
    used = 0;
    kw_text name = kw_node_name(node);
    for (int piece = 0; piece < PIECES; piece++) {
        char *text = take(LENGTH);
        for (uint32_t i = 0; i < LENGTH; i += name.len)
            __builtin_memcpy(text + i, name.at, i + name.len <= LENGTH ? name.len : LENGTH - i);
        __asm__ volatile("" ::"r"(text) : "memory"); // the copies are made, though nothing reads them
        *score += 1;
    }
    return kw_success();
}
