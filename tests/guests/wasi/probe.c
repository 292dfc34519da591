// One call on the files that were granted, and what came of it: `probe OP [PATH [PATH]]`.
// Prints what was read, or the name of the error; the exit code says whether it worked.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static int copy(int from, int to) {
  char buffer[4096];
  ssize_t count;
  while ((count = read(from, buffer, sizeof buffer)) > 0)
    if (write(to, buffer, count) != count) return -1;
  return count < 0 ? -1 : 0;
}

static int read_file(const char *path) {
  int fd = open(path, O_RDONLY);
  return fd < 0 ? -1 : copy(fd, 1);
}

static int write_file(const char *path, int flags) {
  int fd = open(path, O_WRONLY | flags, 0644);
  if (fd < 0) return -1;
  return write(fd, "written", 7) == 7 ? 0 : -1;
}

static int list(const char *path) {
  DIR *directory = opendir(path);
  if (!directory) return -1;
  for (struct dirent *entry; (entry = readdir(directory));)
    if (entry->d_name[0] != '.') puts(entry->d_name);
  return 0;
}

static int read_link(const char *path) {
  char target[4096];
  ssize_t count = readlink(path, target, sizeof target);
  return count < 0 || write(1, target, count) != count ? -1 : 0;
}

// Opens a directory, then a path from there.
static int read_from(const char *folder, const char *path) {
  int fd = open(folder, O_RDONLY | O_DIRECTORY);
  if (fd >= 0) fd = openat(fd, path, O_RDONLY);
  return fd < 0 ? -1 : copy(fd, 1);
}

// The file becomes the standard output.
static int redirect(const char *path) {
  int fd = open(path, O_WRONLY | O_CREAT, 0644);
  if (fd < 0 || close(1) || dprintf(fd, "to the file\n") < 0) return -1;
  return write(1, "lost", 4) < 0 ? 0 : -1;
}

static int pause_for(const char *milliseconds) {
  long count = atol(milliseconds);
  struct timespec time = {count / 1000, count % 1000 * 1000000};
  return nanosleep(&time, 0);
}

static int environment(void) {
  for (char **variable = environ; variable && *variable; variable++) puts(*variable);
  return 0;
}

static int arguments(int count, char **values) {
  for (int index = 0; index < count; index++) puts(values[index]);
  return 0;
}

static int run(const char *op, int count, char **values) {
  const char *first = count > 2 ? values[2] : "", *second = count > 3 ? values[3] : "";
  struct stat status;
  if (!strcmp(op, "hello")) return puts("hello") < 0;
  if (!strcmp(op, "read")) return read_file(first);
  if (!strcmp(op, "readfrom")) return read_from(first, second);
  if (!strcmp(op, "create")) return write_file(first, O_CREAT | O_EXCL);
  if (!strcmp(op, "truncate")) return write_file(first, O_TRUNC);
  if (!strcmp(op, "overwrite")) return write_file(first, 0);
  if (!strcmp(op, "append")) return write_file(first, O_APPEND);
  if (!strcmp(op, "list")) return list(first);
  if (!strcmp(op, "stat")) return stat(first, &status);
  if (!strcmp(op, "readlink")) return read_link(first);
  if (!strcmp(op, "mkdir")) return mkdir(first, 0755);
  if (!strcmp(op, "rmdir")) return rmdir(first);
  if (!strcmp(op, "unlink")) return unlink(first);
  if (!strcmp(op, "rename")) return rename(first, second);
  if (!strcmp(op, "link")) return link(first, second);
  if (!strcmp(op, "symlink")) return symlink(first, second);
  if (!strcmp(op, "touch")) return utimensat(AT_FDCWD, first, 0, 0);
  if (!strcmp(op, "redirect")) return redirect(first);
  if (!strcmp(op, "stdin")) return copy(0, 1);
  if (!strcmp(op, "env")) return environment();
  if (!strcmp(op, "args")) return arguments(count - 2, values + 2);
  if (!strcmp(op, "clock")) return time(0) > 1700000000 ? 0 : -1;
  if (!strcmp(op, "random")) return getentropy(&status, 16);
  if (!strcmp(op, "sleep")) return pause_for(first);
  if (!strcmp(op, "exit")) exit(atoi(first));
  if (!strcmp(op, "abort")) abort();
  if (!strcmp(op, "loop")) for (volatile int i = 0;; i++) {}
  if (!strcmp(op, "flood")) for (;;) if (write(1, "yes\n", 4) < 0) return -1;
  if (!strcmp(op, "hoard")) {
    char *volatile taken;  // or else the compiler sees that nobody needs it
    while ((taken = malloc(1 << 20))) memset(taken, 1, 1 << 20);
    return -1;
  }
  fprintf(stderr, "unknown: %s\n", op);
  exit(99);
}

int main(int count, char **values) {
  if (run(count > 1 ? values[1] : "hello", count, values) == 0) return 0;
  fprintf(stderr, "%s\n", strerror(errno));
  return 1;
}
