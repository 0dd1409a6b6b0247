/* The wall clock of a program that is started with this library in LD_PRELOAD: it is as many seconds ahead of the
   system's clock as the file says that CLOCK_FILE names, as a native 64-bit number. The monotonic clock is right. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *ahead;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("CLOCK_FILE");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void *map = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
  if (map == MAP_FAILED)
    abort();
  close(file);
  ahead = map;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  int failed = syscall(SYS_clock_gettime, clock, time) != 0;
  if (!failed && clock == CLOCK_REALTIME && ahead)
    time->tv_sec += *ahead;
  return failed ? -1 : 0;
}
