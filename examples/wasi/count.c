// Line counts of the files in its arguments; build and run commands in README.md.
#include <errno.h>
#include <stdio.h>
#include <string.h>

static int count(const char *path) {
  FILE *file = fopen(path, "r");
  if (!file) {
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return 1;
  }
  int lines = 0;
  for (int c; (c = fgetc(file)) != EOF;) lines += c == '\n';
  printf("%s: %d lines\n", path, lines);
  return fclose(file);
}

int main(int argc, char **argv) {
  int failed = 0;
  for (int i = 1; i < argc; i++) failed |= count(argv[i]);
  return failed ? 1 : 0;
}
