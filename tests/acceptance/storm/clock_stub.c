/* Loaded before the C library: the time of day is moved by the milliseconds in the file that GANTRY_TEST_CLOCK names.
 * The file is shared memory, so the clock can be set while a process runs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static const volatile long long *off_ms;
static int (*real_clock_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("GANTRY_TEST_CLOCK");
  *(void **)&real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void *found = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *off_ms, PROT_READ, MAP_SHARED, file, 0);
  if (found != MAP_FAILED) off_ms = found;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  if (!real_clock_gettime) begin();
  int status = real_clock_gettime(clock, time);
  if (status == 0 && off_ms && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    long long ns = time->tv_nsec + (*off_ms % 1000) * 1000000LL;
    time->tv_sec += *off_ms / 1000 + ns / 1000000000LL;
    time->tv_nsec = ns % 1000000000LL;
    if (time->tv_nsec < 0) {
      time->tv_nsec += 1000000000L;
      time->tv_sec -= 1;
    }
  }
  return status;
}

int gettimeofday(struct timeval *restrict when, void *restrict zone) {
  struct timespec now;
  (void)zone;
  int status = clock_gettime(CLOCK_REALTIME, &now);
  when->tv_sec = now.tv_sec;
  when->tv_usec = now.tv_nsec / 1000;
  return status;
}

time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
