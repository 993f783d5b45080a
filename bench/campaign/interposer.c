/* Observes, kills or fails the system calls of a process that change files below one folder.

   Loaded with LD_PRELOAD, it stands between a program (Python and its libraries in C, C++ and Rust alike) and the C
   library. It does nothing until chaos_begin is called. From then on every call that changes something below the folder
   is an operation with a number, from 1. At the number `point` of the control block something happens, by `mode`:
   the process is killed, or the call fails. Operations can be recorded, with the bytes that were written.

   Not seen: calls that the C library makes itself (stdio), stores to mapped files, raw system calls. Commands make none
   that change files (bench/results/chaos-calls.json compares 1,378 calls with what strace sees). Copies within the
   kernel are refused, so that programs write the bytes themselves. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* Same numbers as class Mode in interposer.py. */
enum mode { WATCH, KILL, TEAR, FAIL, FULL, READ_ONLY, SHORTEN };

/* Same numbers as class Operation in interposer.py. */
enum operation { CREATE = 1, TRUNCATE, WRITE, FSYNC, RENAME, UNLINK, MKDIR, RMDIR };

/* In memory that the parent shares, so that it can be read after a kill. Same fields as class Control in interposer.py. */
struct control {
    int64_t point, count;
    int32_t mode, error, reached, operation;
    char path[PATH_MAX];
};

struct record {
    int32_t operation, first, second, unused; /* first, second: the lengths of two paths */
    int64_t number, offset, size; /* size: of the data of a WRITE, of the file after a TRUNCATE */
};

static struct control *control;
static char root[PATH_MAX];
static size_t root_length;
static int trace = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(type, name, ...)                                             \
    static type (*real)(__VA_ARGS__);                                     \
    if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

void chaos_begin(const char *folder, struct control *shared, int descriptor) {
    snprintf(root, sizeof root, "%s", folder);
    root_length = strlen(root);
    trace = descriptor;
    control = shared;
}

static int inside(const char *path) {
    return control && !strncmp(path, root, root_length) && (path[root_length] == '/' || !path[root_length]);
}

static int path_of(int descriptor, char *out) {
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(name, out, PATH_MAX - 1);
    out[length > 0 ? length : 0] = 0;
    return length > 0;
}

/* The absolute path of a name; whether it is below the folder. */
static int absolute(int folder, const char *name, char *out) {
    if (!control || !name) return 0;
    if (name[0] == '/') {
        snprintf(out, PATH_MAX, "%s", name);
    } else {
        char from[PATH_MAX];
        if (folder == AT_FDCWD ? !getcwd(from, sizeof from) : !path_of(folder, from)) return 0;
        snprintf(out, PATH_MAX, "%.*s/%.*s", PATH_MAX / 2 - 2, from, PATH_MAX / 2 - 2, name);
    }
    return inside(out);
}

static int file_inside(int descriptor, char *out) {
    struct stat status;
    return control && !fstat(descriptor, &status) && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) &&
           path_of(descriptor, out) && inside(out);
}

static void put(const void *data, size_t size) {
    for (const char *next = data; size > 0;) {
        ssize_t done = syscall(SYS_write, trace, next, size);
        if (done <= 0) return;
        next += done;
        size -= done;
    }
}

static void record(int operation, const char *first, const char *second, int64_t offset, int64_t size,
                   const void *data) {
    if (trace < 0) return;
    int before = errno;
    struct record header = {operation, (int32_t)strlen(first), second ? (int32_t)strlen(second) : 0, 0,
                            control->count, offset, size};
    put(&header, sizeof header);
    put(first, header.first);
    if (second) put(second, header.second);
    if (data) put(data, size);
    errno = before;
}

static void die(void) {
    syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    for (;;) pause();
}

/* Count an operation; the caller holds the lock. Returns 0 to go on, -1 with errno to fail, 1 to do half of a write. */
static int decide(int operation, const char *path) {
    int64_t number = ++control->count;
    int now = number == control->point, later = control->point > 0 && number > control->point;
    int takes_space = operation == CREATE || operation == WRITE || operation == MKDIR, fails = 0;
    if (now) {
        control->operation = operation;
        snprintf(control->path, sizeof control->path, "%s", path);
        control->reached = 1;
        if (control->mode == KILL || (control->mode == TEAR && operation != WRITE)) die();
    }
    switch (control->mode) {
    case TEAR:
    case SHORTEN:
        return now && operation == WRITE;
    case FAIL:
        fails = now;
        break;
    case FULL:
        fails = now || (later && takes_space);
        break;
    case READ_ONLY:
        fails = now || later;
    }
    if (fails) errno = control->error;
    return -fails;
}

/* Opening ------------------------------------------------------------------------------------------------------- */

static int opened(int folder, const char *name, int flags, mode_t mode) {
    REAL(int, "openat64", int, const char *, int, mode_t);
    char path[PATH_MAX];
    if ((flags & O_ACCMODE) == O_RDONLY || (flags & O_TMPFILE) == O_TMPFILE || !absolute(folder, name, path))
        return real(folder, name, flags, mode);
    pthread_mutex_lock(&lock);
    struct stat status;
    int exists = !stat(path, &status), result = -1;
    int operation = !exists && (flags & O_CREAT) ? CREATE : exists && (flags & O_TRUNC) ? TRUNCATE : 0;
    if (exists && !S_ISREG(status.st_mode)) operation = 0;
    if (!operation && control->mode == READ_ONLY && control->reached) {
        errno = control->error;
    } else if (!operation || decide(operation, path) != -1) {
        result = real(folder, name, flags, mode);
        if (result >= 0 && operation) record(operation, path, NULL, 0, 0, NULL);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

#define OPEN(name, folder, ...)                                           \
    int name(__VA_ARGS__, int flags, ...) {                               \
        va_list more;                                                     \
        va_start(more, flags);                                            \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
        va_end(more);                                                     \
        return opened(folder, file, flags, mode);                         \
    }

OPEN(open, AT_FDCWD, const char *file)
OPEN(open64, AT_FDCWD, const char *file)
OPEN(openat, at, int at, const char *file)
OPEN(openat64, at, int at, const char *file)
int creat(const char *name, mode_t mode) { return opened(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *name, mode_t mode) { return creat(name, mode); }

/* Writing ------------------------------------------------------------------------------------------------------- */

static ssize_t written(int descriptor, const void *data, size_t size, int64_t offset) {
    REAL(ssize_t, "write", int, const void *, size_t);
    char path[PATH_MAX];
    int seen = file_inside(descriptor, path), decision = 0;
    if (seen) {
        pthread_mutex_lock(&lock);
        decision = decide(WRITE, path);
    }
    ssize_t result = -1;
    if (decision != -1) {
        if (decision == 1 && size > 1) size /= 2; /* what a full disk takes, or a process that is killed in the middle */
        result = offset < 0 ? real(descriptor, data, size) : syscall(SYS_pwrite64, descriptor, data, size, offset);
        if (decision == 1 && control->mode == TEAR) die();
        if (seen && result >= 0)
            record(WRITE, path, NULL, offset < 0 ? lseek(descriptor, 0, SEEK_CUR) - result : offset, result, data);
    }
    if (seen) pthread_mutex_unlock(&lock);
    return result;
}

ssize_t write(int descriptor, const void *data, size_t size) { return written(descriptor, data, size, -1); }
ssize_t pwrite(int descriptor, const void *data, size_t size, off_t offset) { return written(descriptor, data, size, offset); }
ssize_t pwrite64(int descriptor, const void *data, size_t size, off64_t offset) { return written(descriptor, data, size, offset); }

/* As one write: what the kernel takes at once may be less than all. */
ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    char path[PATH_MAX];
    if (!file_inside(descriptor, path)) return real(descriptor, parts, count);
    size_t size = 0, done = 0;
    for (int i = 0; i < count; i++) size += parts[i].iov_len;
    char *all = malloc(size + 1);
    if (!all) return -1;
    for (int i = 0; i < count; done += parts[i++].iov_len) memcpy(all + done, parts[i].iov_base, parts[i].iov_len);
    ssize_t result = written(descriptor, all, size, -1);
    int error = errno;
    free(all);
    errno = error;
    return result;
}

static ssize_t refused(void) {
    errno = EINVAL;
    return -1;
}

ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t size, unsigned flags) {
    REAL(ssize_t, "copy_file_range", int, off64_t *, int, off64_t *, size_t, unsigned);
    char path[PATH_MAX];
    return file_inside(out, path) ? refused() : real(in, from, out, to, size, flags);
}
ssize_t sendfile(int out, int in, off_t *offset, size_t size) {
    REAL(ssize_t, "sendfile", int, int, off_t *, size_t);
    char path[PATH_MAX];
    return file_inside(out, path) ? refused() : real(out, in, offset, size);
}
ssize_t sendfile64(int out, int in, off64_t *offset, size_t size) { return sendfile(out, in, offset, size); }

/* Calls on a descriptor or on one or two paths ------------------------------------------------------------------- */

#define COUNTED(operation, path, second, offset, size, call)              \
    pthread_mutex_lock(&lock);                                            \
    int result = decide(operation, path) == -1 ? -1 : call;               \
    if (result == 0) record(operation, path, second, offset, size, NULL); \
    pthread_mutex_unlock(&lock);                                          \
    return result

#define ON_DESCRIPTOR(operation, descriptor, call, size)                  \
    char path[PATH_MAX];                                                  \
    if (!file_inside(descriptor, path)) return call;                      \
    COUNTED(operation, path, NULL, 0, size, call)

int fsync(int descriptor) { REAL(int, "fsync", int); ON_DESCRIPTOR(FSYNC, descriptor, real(descriptor), 0); }
int fdatasync(int descriptor) { REAL(int, "fdatasync", int); ON_DESCRIPTOR(FSYNC, descriptor, real(descriptor), 0); }
int ftruncate(int descriptor, off_t size) { REAL(int, "ftruncate", int, off_t); ON_DESCRIPTOR(TRUNCATE, descriptor, real(descriptor, size), size); }
int ftruncate64(int descriptor, off64_t size) { return ftruncate(descriptor, size); }

#define ON_PATH(operation, folder, name, call)                            \
    char path[PATH_MAX];                                                  \
    struct stat status;                                                   \
    if (!absolute(folder, name, path)) return call;                       \
    /* What is there cannot be made, and what is not cannot be removed: that fails on any disk. */ \
    int kind = (operation);                                               \
    if ((lstat(path, &status) == 0) == (kind == MKDIR)) return call;      \
    COUNTED(kind, path, NULL, 0, 0, call)

int unlinkat(int folder, const char *name, int flags) {
    REAL(int, "unlinkat", int, const char *, int);
    ON_PATH(flags & AT_REMOVEDIR ? RMDIR : UNLINK, folder, name, real(folder, name, flags));
}
int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return unlinkat(AT_FDCWD, name, AT_REMOVEDIR); }
int mkdirat(int folder, const char *name, mode_t mode) {
    REAL(int, "mkdirat", int, const char *, mode_t);
    ON_PATH(MKDIR, folder, name, real(folder, name, mode));
}
int mkdir(const char *name, mode_t mode) { return mkdirat(AT_FDCWD, name, mode); }

int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
    char first[PATH_MAX], second[PATH_MAX];
    int seen = absolute(from, old, first), also = absolute(to, new, second);
    if (!seen && !also) return syscall(SYS_renameat2, from, old, to, new, flags);
    COUNTED(RENAME, first, second, flags, 0, syscall(SYS_renameat2, from, old, to, new, flags));
}
int rename(const char *old, const char *new) { return renameat2(AT_FDCWD, old, AT_FDCWD, new, 0); }
int renameat(int from, const char *old, int to, const char *new) { return renameat2(from, old, to, new, 0); }
int truncate(const char *name, off_t size) {
    int descriptor = open(name, O_WRONLY), result = descriptor < 0 ? -1 : ftruncate(descriptor, size);
    if (descriptor >= 0) syscall(SYS_close, descriptor);
    return result;
}
