/* The functions of kubewasp.h for languages that link them, such as Zig. Plugins in C include the header alone. */
#define KW_IMPLEMENT 1
#include "kubewasp.h"
