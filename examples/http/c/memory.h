/* Strings between a web handler in C and its host. Three rules of ownership (docs/web-memory.md):
 *
 * - a string that the guest passes to an imported function stays the guest's;
 * - a string that the host passes to an exported function is the host's, which frees it;
 * - a string that the guest returns from an exported function becomes the host's: transfer().
 *
 * The host allocates and frees with the guest's malloc and free, so both are exported:
 *
 *     zig cc -target wasm32-wasi -mexec-model=reactor -Os -Wl,--export=malloc -Wl,--export=free -o ../message-c.wasm message.c
 */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT(name) __attribute__((export_name(name)))
#define IMPORT(module, name) __attribute__((import_module(module), import_name(name)))

/* Text of the host or the guest, without a NUL at its end. */
struct text {
  const char *at;
  uint32_t length;
};

/* A string that an imported function has returned as pointer << 32 | length. */
static inline struct text unpacked(uint64_t packed) {
  return (struct text){(const char *)(uintptr_t)(packed >> 32), (uint32_t)packed};
}

/* A copy of a string as pointer << 32 | length, for the result of an exported function. The host owns it. */
static inline uint64_t transfer(const char *at, uint32_t length) {
  char *copy = malloc(length ? length : 1);
  if (!copy) abort();
  memcpy(copy, at, length);
  return (uint64_t)(uintptr_t)copy << 32 | length;
}

#endif
