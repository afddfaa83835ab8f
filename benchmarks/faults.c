/* Calls that change files, and allocations: made to fail, or to end the process, at the n-th. Preloaded by faults.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { NEVER, ONCE, FULL, KILL, MEMORY };

struct plan {
    long at;    /* which call; 0: none */
    long least; /* bytes of an allocation that counts */
    long calls; /* so far */
    int mode, process, fired;
    char where[20];
};

static struct plan *plan;

struct plan *faults_plan(void) {
    if (!plan)
        plan = mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return plan;
}

/* Whether this call is to fail; a full disk lets names and rights be changed, and files go. */
static int due(const char *name, int takes_room) {
    if (!plan || plan->mode == NEVER || plan->mode == MEMORY || plan->process != getpid())
        return 0;
    long number = __sync_add_and_fetch(&plan->calls, 1);
    if (!plan->at || number < plan->at || (plan->mode != FULL && number > plan->at) || (plan->mode == FULL && !takes_room))
        return 0;
    plan->fired++;
    if (plan->fired == 1)
        strncpy(plan->where, name, sizeof plan->where - 1);
    if (plan->mode == KILL)
        kill(getpid(), SIGKILL);
    errno = plan->mode == FULL ? ENOSPC : EIO;
    return 1;
}

static int is_file(int fd) {
    struct stat found;
    int before = errno;
    int is = fd > 2 && fstat(fd, &found) == 0 && S_ISREG(found.st_mode);
    errno = before;
    return is;
}

static int is_ours(const char *path) { return strncmp(path, "/dev/", 5) && strncmp(path, "/proc/", 6); }

#define REAL(name)                                                                                                     \
    static __typeof__(&name) real;                                                                                     \
    if (!real)                                                                                                         \
        real = (__typeof__(&name))dlsym(RTLD_NEXT, #name);

/* A disk that is filling up takes the first half. */
#define WRITES(result, name, declared, given, halved)                                                                  \
    result name declared {                                                                                             \
        REAL(name)                                                                                                     \
        int first = plan && !plan->fired;                                                                              \
        if (is_file(fd) && due(#name, 1))                                                                              \
            return plan->mode == FULL && first && n > 1 ? real halved : -1;                                            \
        return real given;                                                                                             \
    }
WRITES(ssize_t, write, (int fd, const void *b, size_t n), (fd, b, n), (fd, b, n / 2))
WRITES(ssize_t, pwrite, (int fd, const void *b, size_t n, off_t at), (fd, b, n, at), (fd, b, n / 2, at))
WRITES(ssize_t, pwrite64, (int fd, const void *b, size_t n, off64_t at), (fd, b, n, at), (fd, b, n / 2, at))
WRITES(ssize_t, writev, (int fd, const struct iovec *v, int n), (fd, v, n), (fd, v, 1))
WRITES(ssize_t, sendfile, (int fd, int from, off_t *at, size_t n), (fd, from, at, n), (fd, from, at, n / 2))
WRITES(ssize_t, sendfile64, (int fd, int from, off64_t *at, size_t n), (fd, from, at, n), (fd, from, at, n / 2))

#define OF_FILE(name, declared, given, takes_room)                                                                     \
    int name declared {                                                                                                \
        REAL(name)                                                                                                     \
        return is_file(fd) && due(#name, takes_room) ? -1 : real given;                                                \
    }
OF_FILE(fsync, (int fd), (fd), 1)
OF_FILE(fdatasync, (int fd), (fd), 1)
OF_FILE(ftruncate, (int fd, off_t n), (fd, n), 0)
OF_FILE(ftruncate64, (int fd, off64_t n), (fd, n), 0)
OF_FILE(fchmod, (int fd, mode_t mode), (fd, mode), 0)

#define OF_PATH(name, declared, given, takes_room)                                                                     \
    int name declared {                                                                                                \
        REAL(name)                                                                                                     \
        return is_ours(path) && due(#name, takes_room) ? -1 : real given;                                              \
    }
OF_PATH(rename, (const char *path, const char *to), (path, to), 0)
OF_PATH(renameat, (int at, const char *path, int to_at, const char *to), (at, path, to_at, to), 0)
OF_PATH(link, (const char *path, const char *to), (path, to), 1)
OF_PATH(unlink, (const char *path), (path), 0)
OF_PATH(unlinkat, (int at, const char *path, int flags), (at, path, flags), 0)
OF_PATH(rmdir, (const char *path), (path), 0)
OF_PATH(mkdir, (const char *path, mode_t mode), (path, mode), 1)
OF_PATH(mkdirat, (int at, const char *path, mode_t mode), (at, path, mode), 1)
OF_PATH(chmod, (const char *path, mode_t mode), (path, mode), 0)
OF_PATH(fchmodat, (int at, const char *path, mode_t mode, int flags), (at, path, mode, flags), 0)
OF_PATH(truncate, (const char *path, off_t n), (path, n), 0)

#define OPENS(name, declared, given)                                                                                   \
    int name declared {                                                                                                \
        REAL(name)                                                                                                     \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;                                      \
        va_end(rest);                                                                                                  \
        return flags & O_CREAT && is_ours(path) && due(#name, 1) ? -1 : real given;                                    \
    }
OPENS(open, (const char *path, int flags, ...), (path, flags, mode))
OPENS(open64, (const char *path, int flags, ...), (path, flags, mode))
OPENS(openat, (int at, const char *path, int flags, ...), (at, path, flags, mode))
OPENS(openat64, (int at, const char *path, int flags, ...), (at, path, flags, mode))

/* Allocations. */
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

static int lacking(size_t n) {
    if (!plan || plan->mode != MEMORY || (long)n < plan->least || plan->process != getpid())
        return 0;
    if (__sync_add_and_fetch(&plan->calls, 1) != plan->at)
        return 0;
    plan->fired = 1;
    strcpy(plan->where, "memory");
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t n) { return lacking(n) ? NULL : __libc_malloc(n); }
void *calloc(size_t count, size_t n) { return lacking(count * n) ? NULL : __libc_calloc(count, n); }
void *realloc(void *p, size_t n) { return lacking(n) ? NULL : __libc_realloc(p, n); }
