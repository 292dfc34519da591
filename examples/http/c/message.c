/* Web handler of style run: greets the name in the request body. The form to begin with. Build: memory.h. */
#include "memory.h"

IMPORT("httpwasm", "oputs") void oputs(const char *at, uint32_t length);
IMPORT("httpwasm", "eputs") void eputs(const char *at, uint32_t length);

EXPORT("run") void run(const char *name, uint32_t length) { /* the host's: not to be freed here */
  static const char nobody[] = "no name in the body";
  if (!length) {
    eputs(nobody, sizeof nobody - 1);
    name = "world", length = 5;
  }
  oputs("hello, ", 7); /* the host has read it when oputs returns */
  oputs(name, length);
  oputs("\n", 1);
}
