/* Web handler of style run: reads the request line by line, and numbers the lines. Build: memory.h. */
#include <ctype.h>
#include <stdio.h>

#include "memory.h"

IMPORT("httpwasm", "igets") uint64_t igets(void);
IMPORT("httpwasm", "oputs") void oputs(const char *at, uint32_t length);

EXPORT("run") void run(void) {
  char number[16];
  for (unsigned count = 1;; count++) {
    struct text line = unpacked(igets()); /* the host frees it after run */
    if (!line.length) return;
    oputs(number, snprintf(number, sizeof number, "%u ", count));
    char *upper = malloc(line.length);
    if (!upper) abort();
    for (uint32_t at = 0; at < line.length; at++) upper[at] = toupper((unsigned char)line.at[at]);
    oputs(upper, line.length);
    free(upper); /* the guest's own */
  }
}
