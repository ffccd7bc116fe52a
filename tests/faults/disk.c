// A disk that fails, for LD_PRELOAD: what a process and all that it starts write into files is counted, over all of
// them together, and fails where it is told to, or is kept apart until it is synced. Every open file that isn't a pipe,
// a terminal or a device counts.
//
//   ASSAY_DISK_STATE=FILE    the shared counters, 24 zero bytes to begin with: calls that write, calls that make a
//   name,
//                            looks at the clock
//   ASSAY_DISK_FULL_AT=N     the Nth call that writes (from 0), and all after it, have no room
//   ASSAY_DISK_FULL_FOR=M    ... only M of them
//   ASSAY_DISK_NAMES_AT=N    the Nth call that makes a file, folder, link or new name, and all after it, have no inode
//   ASSAY_DISK_POWER=PATH    what is written into files whose name begins with PATH, which is absolute, is noted in
//   order,
//                            with their syncs and those of their folder, in
//                            ASSAY_DISK_STATE.log, each with a line 'w' (write), 't' (truncate), 's' (sync)
//                            or 'u' (unlink), microseconds, offset, size, name; the bytes of a write follow
//   ASSAY_CLOCK_STEPS=SEED   the time of day jumps by up to ten years either way with every look at it
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct shared {
  _Atomic int64_t writes, names, clock;
};
static struct shared* shared_state;
static int64_t full_at = -1, full_for = INT64_MAX, names_at = -1, clock_seed = -1;
static const char* powered;
static int log_file = -1;

static int64_t number(const char* name, int64_t otherwise) {
  const char* text = getenv(name);
  return text ? strtoll(text, NULL, 10) : otherwise;
}

__attribute__((constructor)) static void begin(void) {
  const char* path = getenv("ASSAY_DISK_STATE");
  if (!path) return;
  int file = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
  if (file < 0) return;
  void* memory = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  syscall(SYS_close, file);
  if (memory == MAP_FAILED) return;
  full_at = number("ASSAY_DISK_FULL_AT", -1);
  full_for = number("ASSAY_DISK_FULL_FOR", INT64_MAX);
  names_at = number("ASSAY_DISK_NAMES_AT", -1);
  clock_seed = number("ASSAY_CLOCK_STEPS", -1);
  powered = getenv("ASSAY_DISK_POWER");
  if (powered) {
    char log[PATH_MAX];
    snprintf(log, sizeof log, "%s.log", path);
    log_file = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  }
  shared_state = memory;
}

static int is_file(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

/// Whether this write has no room.
static int full(int fd) {
  if (!shared_state || !is_file(fd)) return 0;
  int64_t index = atomic_fetch_add(&shared_state->writes, 1);
  if (full_at < 0 || index < full_at || index - full_at >= full_for) return 0;
  errno = ENOSPC;
  return 1;
}

static int no_name(void) {
  if (!shared_state) return 0;
  int64_t index = atomic_fetch_add(&shared_state->names, 1);
  if (names_at < 0 || index < names_at) return 0;
  errno = ENOSPC;
  return 1;
}

static void note(char what, const char* name, int64_t offset, int64_t size, const void* bytes) {
  char head[PATH_MAX + 64];
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  const long long microseconds = now.tv_sec * 1000000ll + now.tv_nsec / 1000;
  int length = snprintf(head, sizeof head, "%c %lld %lld %lld %s\n", what, microseconds, (long long)offset,
                        (long long)size, name);
  struct iovec parts[2] = {{head, (size_t)length}, {(void*)bytes, bytes ? (size_t)size : 0}};
  syscall(SYS_writev, log_file, parts,
          bytes ? 2 : 1);  // one call in append mode: whole, though several processes write
}

/// The name of an open file whose writes are noted, or of their folder, else nothing.
static const char* noted(int fd, char* name) {
  if (log_file < 0) return NULL;
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, name, PATH_MAX - 1);
  if (length < 0) return NULL;
  name[length] = 0;
  const size_t folder = (size_t)(strrchr(powered, '/') - powered);
  const int is_folder = strlen(name) == folder && strncmp(name, powered, folder) == 0;
  return is_folder || strncmp(name, powered, strlen(powered)) == 0 ? name : NULL;
}

#define NEXT(name)           \
  static typeof(name)* next; \
  if (!next) next = (typeof(name)*)dlsym(RTLD_NEXT, #name)
#define EXPORT __attribute__((visibility("default")))

EXPORT ssize_t write(int fd, const void* bytes, size_t count) {
  NEXT(write);
  if (full(fd)) return -1;
  return next(fd, bytes, count);
}
EXPORT ssize_t writev(int fd, const struct iovec* parts, int count) {
  NEXT(writev);
  if (full(fd)) return -1;
  return next(fd, parts, count);
}
EXPORT ssize_t pwrite64(int fd, const void* bytes, size_t count, off64_t offset) {
  NEXT(pwrite64);
  if (full(fd)) return -1;
  char path[PATH_MAX];
  const char* name = noted(fd, path);
  if (name) note('w', name, offset, (int64_t)count, bytes);
  return next(fd, bytes, count, offset);
}
EXPORT ssize_t pwrite(int fd, const void* bytes, size_t count, off_t offset) {
  return pwrite64(fd, bytes, count, offset);
}
EXPORT ssize_t copy_file_range(int from, off64_t* at, int to, off64_t* place, size_t count, unsigned flags) {
  NEXT(copy_file_range);
  if (full(to)) return -1;
  return next(from, at, to, place, count, flags);
}
EXPORT ssize_t sendfile64(int to, int from, off64_t* at, size_t count) {
  ssize_t (*next)(int, int, off64_t*, size_t) = (ssize_t(*)(int, int, off64_t*, size_t))dlsym(RTLD_NEXT, "sendfile64");
  if (full(to)) return -1;
  return next(to, from, at, count);
}
EXPORT ssize_t sendfile(int to, int from, off_t* at, size_t count) { return sendfile64(to, from, at, count); }
EXPORT int posix_fallocate64(int fd, off64_t offset, off64_t size) {
  NEXT(posix_fallocate64);
  if (full(fd)) return ENOSPC;
  return next(fd, offset, size);
}
EXPORT int posix_fallocate(int fd, off_t offset, off_t size) { return posix_fallocate64(fd, offset, size); }

EXPORT int ftruncate64(int fd, off64_t size) {
  NEXT(ftruncate64);
  char path[PATH_MAX];
  const char* name = noted(fd, path);
  if (name) note('t', name, size, 0, NULL);
  return next(fd, size);
}
EXPORT int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }
static void synced(int fd) {
  char path[PATH_MAX];
  const char* name = noted(fd, path);
  if (name) note('s', name, 0, 0, NULL);
}
EXPORT int fsync(int fd) {
  NEXT(fsync);
  int result = next(fd);
  synced(fd);
  return result;
}
EXPORT int fdatasync(int fd) {
  NEXT(fdatasync);
  int result = next(fd);
  synced(fd);
  return result;
}
EXPORT int unlink(const char* path) {
  NEXT(unlink);
  if (log_file >= 0 && strncmp(path, powered, strlen(powered)) == 0) note('u', path, 0, 0, NULL);
  return next(path);
}

static int makes(int flags) { return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE; }
#define MODE(flags)              \
  mode_t mode = 0;               \
  if (makes(flags)) {            \
    va_list rest;                \
    va_start(rest, flags);       \
    mode = va_arg(rest, mode_t); \
    va_end(rest);                \
  }
/// A file that is there is opened as ever.
static int refused(int folder, const char* path, int flags) {
  return makes(flags) && faccessat(folder, path, F_OK, 0) != 0 && no_name();
}
EXPORT int open64(const char* path, int flags, ...) {
  MODE(flags)
  if (refused(AT_FDCWD, path, flags)) return -1;
  return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
EXPORT int open(const char* path, int flags, ...) {
  MODE(flags)
  if (refused(AT_FDCWD, path, flags)) return -1;
  return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
EXPORT int openat64(int folder, const char* path, int flags, ...) {
  MODE(flags)
  if (refused(folder, path, flags)) return -1;
  return syscall(SYS_openat, folder, path, flags, mode);
}
EXPORT int openat(int folder, const char* path, int flags, ...) {
  MODE(flags)
  if (refused(folder, path, flags)) return -1;
  return syscall(SYS_openat, folder, path, flags, mode);
}
EXPORT FILE* fopen64(const char* path, const char* how) {
  NEXT(fopen64);
  if (strchr("wa", how[0]) && access(path, F_OK) != 0 && no_name()) return NULL;
  return next(path, how);
}
EXPORT FILE* fopen(const char* path, const char* how) { return fopen64(path, how); }
EXPORT int mkdir(const char* path, mode_t mode) {
  NEXT(mkdir);
  if (access(path, F_OK) != 0 && no_name()) return -1;
  return next(path, mode);
}
EXPORT char* mkdtemp(char* pattern) {
  NEXT(mkdtemp);
  if (no_name()) return NULL;
  return next(pattern);
}
EXPORT int mkstemp64(char* pattern) {
  NEXT(mkstemp64);
  if (no_name()) return -1;
  return next(pattern);
}
EXPORT int mkstemp(char* pattern) { return mkstemp64(pattern); }
EXPORT int mkfifo(const char* path, mode_t mode) {
  NEXT(mkfifo);
  if (no_name()) return -1;
  return next(path, mode);
}
EXPORT int symlink(const char* to, const char* path) {
  NEXT(symlink);
  if (no_name()) return -1;
  return next(to, path);
}
EXPORT int link(const char* from, const char* path) {
  NEXT(link);
  if (no_name()) return -1;
  return next(from, path);
}
EXPORT int rename(const char* from, const char* to) {
  NEXT(rename);
  if (access(to, F_OK) != 0 && no_name()) return -1;
  return next(from, to);
}

/// Seconds that the clock is off now.
static int64_t step(void) {
  if (!shared_state || clock_seed < 0) return 0;
  uint64_t x = (uint64_t)clock_seed * 0x9e3779b97f4a7c15u + (uint64_t)atomic_fetch_add(&shared_state->clock, 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  const int64_t ten_years = 315576000;
  return (int64_t)((x ^ (x >> 31)) % (uint64_t)(2 * ten_years)) - ten_years;
}
EXPORT int clock_gettime(clockid_t clock, struct timespec* time) {
  NEXT(clock_gettime);
  int result = next(clock, time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += step();
  return result;
}
EXPORT int gettimeofday(struct timeval* restrict time, void* restrict zone) {
  NEXT(gettimeofday);
  int result = next(time, zone);
  if (result == 0) time->tv_sec += step();
  return result;
}
EXPORT time_t time(time_t* place) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (place) *place = now.tv_sec;
  return now.tv_sec;
}
