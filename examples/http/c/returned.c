/* Web handler of style module: the result of run is the body, and becomes the host's. Build: memory.h. */
#include "memory.h"

IMPORT("kubewasp_http", "request_query") uint64_t request_query(void);
IMPORT("kubewasp_http", "response_write") void response_write(const char *at, uint32_t length);

EXPORT("run") uint64_t run(void) {
  struct text query = unpacked(request_query());
  response_write("hello, ", 7);
  response_write(query.at, query.length);
  free((void *)query.at); /* style module: the guest owns what the host has made for it */
  return transfer("\n", 1);
}
