/* Greets, and adds the motto of a file if the program has access to it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

int main(int count, char **values) {
  printf("Hello, %s\n", count > 1 ? values[1] : "world");
  FILE *file = fopen("/data/motto.txt", "r");
  if (!file) {
    printf("no motto: %s\n", strerror(errno));
    return 0;
  }
  char line[100];
  if (fgets(line, sizeof line, file)) printf("motto: %s", line);
  return fclose(file);
}
