/* Records every call of a process that changes a file below a folder, in the order in which they take effect.
 *
 * Loaded with LD_PRELOAD. It stands below both the program's own files and those of SQLite, which calls the C library
 * too. EFFACE_RECORD_ROOT names the folder (absolute, without symbolic links), EFFACE_RECORD_LOG the log.
 *
 * Each record, in the byte order of the machine:
 *
 *   tag     u8     see the calls of `record` below
 *   handle  u32    number of an open file; a file that is opened twice has two
 *   at, n   u64    offset and length, or what the tag says
 *   first   u32 length, bytes    a path relative to the folder, or data
 *   second  u32 length, bytes    the new path of a rename or a link
 *
 * A call is made and recorded under one lock, so the log has the order of the file system. What cannot be recorded ends
 * the process: a log that misses something would make the test silent. Calls that do not go through the C library (raw
 * system calls, mappings) are not seen here; the reader of the log compares its outcome with the folder's bytes.
 *
 * Files ending in "-shm" are left out: SQLite maps them, never relies on them after a crash, and makes them anew.
 * Permissions are left out: they are no content. sync_file_range is left out: it promises nothing after a power loss.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CREATES = 1, CUTS = 2, FOLDER = 4 };
enum { MAX_FD = 4096, LOG_FD = 1000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX];
static size_t root_length;
static int log_fd = -1;
static uint32_t handle_of[MAX_FD]; /* 0: not below the folder */
static uint32_t n_handles;

/* The C library's own function of the same name. */
#define REAL(name) \
    static __typeof__(&name) real; \
    if (real == NULL) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static void give_up(const char *why) {
    dprintf(2, "recorder: %s (errno %d)\n", why, errno);
    abort();
}

static void put(const void *bytes, size_t n) {
    static ssize_t (*real)(int, const void *, size_t);
    if (real == NULL) real = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    const char *next = bytes;
    while (n > 0) {
        ssize_t done = real(log_fd, next, n);
        if (done <= 0) give_up("the log cannot be written");
        next += done;
        n -= (size_t)done;
    }
}

static void record(char tag, uint32_t handle, uint64_t at, uint64_t n, const void *first, size_t first_n,
                   const char *second) {
    int before = errno;
    uint32_t first_length = (uint32_t)first_n, second_length = second ? (uint32_t)strlen(second) : 0;
    put(&tag, 1);
    put(&handle, 4);
    put(&at, 8);
    put(&n, 8);
    put(&first_length, 4);
    put(first, first_n);
    put(&second_length, 4);
    put(second, second_length);
    errno = before;
}

__attribute__((constructor)) static void start(void) {
    const char *folder = getenv("EFFACE_RECORD_ROOT"), *log = getenv("EFFACE_RECORD_LOG");
    if (folder == NULL || log == NULL) give_up("EFFACE_RECORD_ROOT and EFFACE_RECORD_LOG are needed");
    snprintf(root, sizeof root, "%s", folder);
    root_length = strlen(root);
    int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64");
    int fd = real(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    log_fd = fcntl(fd, F_DUPFD_CLOEXEC, LOG_FD);
    if (fd < 0 || log_fd < 0) give_up("the log cannot be opened");
    close(fd);
}

/* Writes the path relative to the folder, without "." and ".."; 0 if it is elsewhere or not recorded. */
static int below(int folder, const char *path, char out[PATH_MAX]) {
    char whole[2 * PATH_MAX];
    int before = errno;
    if (path[0] == '/') {
        snprintf(whole, sizeof whole, "%s", path);
    } else {
        char base[PATH_MAX];
        if (folder == AT_FDCWD) {
            if (getcwd(base, sizeof base) == NULL) give_up("no working directory");
        } else {
            char link[64];
            snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
            ssize_t n = readlink(link, base, sizeof base - 1);
            if (n < 0) {
                errno = before;
                return 0;
            }
            base[n] = 0;
        }
        snprintf(whole, sizeof whole, "%s/%s", base, path);
    }
    errno = before;
    char clean[PATH_MAX] = "";
    size_t length = 0;
    char *rest = NULL;
    for (char *part = strtok_r(whole, "/", &rest); part != NULL; part = strtok_r(NULL, "/", &rest)) {
        if (strcmp(part, ".") == 0) continue;
        if (strcmp(part, "..") == 0) {
            while (length > 0 && clean[--length] != '/') {}
            clean[length] = 0;
            continue;
        }
        length += (size_t)snprintf(clean + length, sizeof clean - length, "/%s", part);
        if (length >= sizeof clean) give_up("a path is too long");
    }
    if (strncmp(clean, root, root_length) != 0) return 0;
    if (clean[root_length] != 0 && clean[root_length] != '/') return 0;
    const char *name = clean + root_length + (clean[root_length] == '/');
    size_t name_length = strlen(name);
    if (name_length >= 4 && strcmp(name + name_length - 4, "-shm") == 0) return 0;
    memcpy(out, name, name_length + 1);
    return 1;
}

static uint32_t handle(int fd) { return fd >= 0 && fd < MAX_FD ? handle_of[fd] : 0; }

static void track(int fd, uint32_t of) {
    if (fd >= MAX_FD) give_up("too many open files");
    if (fd >= 0) handle_of[fd] = of;
}

static int opened(int fd, int folder, const char *path, int flags) {
    if (fd < 0) return fd;
    char name[PATH_MAX];
    track(fd, 0);
    if (!below(folder, path, name)) return fd;
    if ((flags & O_TMPFILE) == O_TMPFILE) give_up("files without a name are not recorded");
    struct stat about;
    if (fstat(fd, &about) != 0) give_up("an open file has no metadata");
    track(fd, ++n_handles);
    int kind = (flags & O_CREAT ? CREATES : 0) | (flags & O_TRUNC ? CUTS : 0);
    record('o', n_handles, S_ISDIR(about.st_mode) ? FOLDER : (uint64_t)kind, 0, name, strlen(name), NULL);
    return fd;
}

#define MODE \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { \
        va_list rest; \
        va_start(rest, flags); \
        mode = va_arg(rest, mode_t); \
        va_end(rest); \
    }

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        MODE REAL(name); \
        pthread_mutex_lock(&lock); \
        int fd = opened(real(path, flags, mode), AT_FDCWD, path, flags); \
        pthread_mutex_unlock(&lock); \
        return fd; \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name) \
    int name(int folder, const char *path, int flags, ...) { \
        MODE REAL(name); \
        pthread_mutex_lock(&lock); \
        int fd = opened(real(folder, path, flags, mode), folder, path, flags); \
        pthread_mutex_unlock(&lock); \
        return fd; \
    }
OPENAT(openat)
OPENAT(openat64)

#define CREAT(name) \
    int name(const char *path, mode_t mode) { \
        REAL(name); \
        pthread_mutex_lock(&lock); \
        int fd = opened(real(path, mode), AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC); \
        pthread_mutex_unlock(&lock); \
        return fd; \
    }
CREAT(creat)
CREAT(creat64)

int close(int fd) {
    REAL(close);
    pthread_mutex_lock(&lock);
    if (fd != log_fd) track(fd, 0);
    int answer = fd == log_fd ? 0 : real(fd);
    pthread_mutex_unlock(&lock);
    return answer;
}

int dup(int fd) {
    REAL(dup);
    pthread_mutex_lock(&lock);
    int copy = real(fd);
    track(copy, handle(fd));
    pthread_mutex_unlock(&lock);
    return copy;
}

int dup2(int fd, int to) {
    REAL(dup2);
    pthread_mutex_lock(&lock);
    int copy = real(fd, to);
    track(copy, handle(fd));
    pthread_mutex_unlock(&lock);
    return copy;
}

int dup3(int fd, int to, int flags) {
    REAL(dup3);
    pthread_mutex_lock(&lock);
    int copy = real(fd, to, flags);
    track(copy, handle(fd));
    pthread_mutex_unlock(&lock);
    return copy;
}

/* The lock is taken for copies only: a command may wait, for a lock on a file for example. */
#define FCNTL(name) \
    int name(int fd, int command, ...) { \
        REAL(name); \
        va_list rest; \
        va_start(rest, command); \
        void *argument = va_arg(rest, void *); \
        va_end(rest); \
        if (command != F_DUPFD && command != F_DUPFD_CLOEXEC) return real(fd, command, argument); \
        pthread_mutex_lock(&lock); \
        int copy = real(fd, command, argument); \
        if (copy >= 0 && copy < MAX_FD) track(copy, handle(fd)); \
        pthread_mutex_unlock(&lock); \
        return copy; \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

/* Where the next write of an open file goes. */
static uint64_t place(int fd) {
    int before = errno;
    off_t at = fcntl(fd, F_GETFL) & O_APPEND ? lseek(fd, 0, SEEK_END) : lseek(fd, 0, SEEK_CUR);
    errno = before;
    return (uint64_t)at;
}

static void wrote(int fd, uint64_t at, const void *bytes, ssize_t done) {
    if (done > 0) record('w', handle(fd), at, 0, bytes, (size_t)done, NULL);
}

ssize_t write(int fd, const void *bytes, size_t n) {
    REAL(write);
    if (fd != 1 && handle(fd) == 0) return real(fd, bytes, n);
    pthread_mutex_lock(&lock);
    uint64_t at = handle(fd) ? place(fd) : 0;
    ssize_t done = real(fd, bytes, n);
    if (handle(fd)) {
        wrote(fd, at, bytes, done);
    } else if (done > 0) {
        record('a', 0, 0, 0, bytes, (size_t)done, NULL);
    }
    pthread_mutex_unlock(&lock);
    return done;
}

#define PWRITE(name, offset_type) \
    ssize_t name(int fd, const void *bytes, size_t n, offset_type at) { \
        REAL(name); \
        if (handle(fd) == 0) return real(fd, bytes, n, at); \
        pthread_mutex_lock(&lock); \
        ssize_t done = real(fd, bytes, n, at); \
        wrote(fd, (uint64_t)at, bytes, done); \
        pthread_mutex_unlock(&lock); \
        return done; \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

/* A write of many parts, as single ones: a kernel may stop between them too. */
ssize_t writev(int fd, const struct iovec *parts, int n) {
    REAL(writev);
    if (fd != 1 && handle(fd) == 0) return real(fd, parts, n);
    ssize_t all = 0;
    for (int i = 0; i < n; i++) {
        ssize_t done = write(fd, parts[i].iov_base, parts[i].iov_len);
        if (done < 0) return all > 0 ? all : done;
        all += done;
        if ((size_t)done < parts[i].iov_len) break;
    }
    return all;
}

#define PWRITEV(name, offset_type, one) \
    ssize_t name(int fd, const struct iovec *parts, int n, offset_type at) { \
        REAL(name); \
        if (handle(fd) == 0) return real(fd, parts, n, at); \
        ssize_t all = 0; \
        for (int i = 0; i < n; i++) { \
            ssize_t done = one(fd, parts[i].iov_base, parts[i].iov_len, at + all); \
            if (done < 0) return all > 0 ? all : done; \
            all += done; \
            if ((size_t)done < parts[i].iov_len) break; \
        } \
        return all; \
    }
PWRITEV(pwritev, off_t, pwrite)
PWRITEV(pwritev64, off64_t, pwrite64)

#define FTRUNCATE(name, offset_type) \
    int name(int fd, offset_type n) { \
        REAL(name); \
        pthread_mutex_lock(&lock); \
        int answer = real(fd, n); \
        if (answer == 0 && handle(fd)) record('t', handle(fd), 0, (uint64_t)n, "", 0, NULL); \
        pthread_mutex_unlock(&lock); \
        return answer; \
    }
FTRUNCATE(ftruncate, off_t)
FTRUNCATE(ftruncate64, off64_t)

/* By way of an open file, which has a number. */
#define TRUNCATE(name, offset_type, one) \
    int name(const char *path, offset_type n) { \
        int fd = open64(path, O_WRONLY | O_CLOEXEC); \
        if (fd < 0) return -1; \
        int answer = one(fd, n); \
        close(fd); \
        return answer; \
    }
TRUNCATE(truncate, off_t, ftruncate)
TRUNCATE(truncate64, off64_t, ftruncate64)

static void allocated(int fd, int mode, uint64_t at, uint64_t n) {
    if (handle(fd) == 0) return;
    if (mode & FALLOC_FL_PUNCH_HOLE || mode & FALLOC_FL_ZERO_RANGE) {
        record('z', handle(fd), at, n, "", 0, NULL);
        if (mode & FALLOC_FL_KEEP_SIZE) return;
        mode &= ~FALLOC_FL_ZERO_RANGE;
    }
    if (mode == FALLOC_FL_KEEP_SIZE) return;
    if (mode != 0) give_up("this way of fallocate is not recorded");
    record('g', handle(fd), 0, at + n, "", 0, NULL);
}

#define FALLOCATE(name, offset_type) \
    int name(int fd, int mode, offset_type at, offset_type n) { \
        REAL(name); \
        pthread_mutex_lock(&lock); \
        int answer = real(fd, mode, at, n); \
        if (answer == 0) allocated(fd, mode, (uint64_t)at, (uint64_t)n); \
        pthread_mutex_unlock(&lock); \
        return answer; \
    }
FALLOCATE(fallocate, off_t)
FALLOCATE(fallocate64, off64_t)

#define POSIX_FALLOCATE(name, offset_type) \
    int name(int fd, offset_type at, offset_type n) { \
        REAL(name); \
        pthread_mutex_lock(&lock); \
        int answer = real(fd, at, n); \
        if (answer == 0) allocated(fd, 0, (uint64_t)at, (uint64_t)n); \
        pthread_mutex_unlock(&lock); \
        return answer; \
    }
POSIX_FALLOCATE(posix_fallocate, off_t)
POSIX_FALLOCATE(posix_fallocate64, off64_t)

#define SYNC(name) \
    int name(int fd) { \
        REAL(name); \
        pthread_mutex_lock(&lock); \
        int answer = real(fd); \
        if (answer == 0 && handle(fd)) record('s', handle(fd), 0, 0, "", 0, NULL); \
        pthread_mutex_unlock(&lock); \
        return answer; \
    }
SYNC(fsync)
SYNC(fdatasync)

/* A change of names that has happened: from one path to another, or of one path where `to` is NULL. */
static int renamed(int answer, char tag, int folder, const char *path, int to_folder, const char *to) {
    char name[PATH_MAX], new_name[PATH_MAX];
    if (answer != 0) return answer;
    int inside = below(folder, path, name);
    if (to == NULL) {
        if (inside) record(tag, 0, 0, 0, name, strlen(name), NULL);
        return answer;
    }
    if (inside != below(to_folder, to, new_name)) give_up("a name moves into the folder or out of it");
    if (inside) record(tag, 0, 0, 0, name, strlen(name), new_name);
    return answer;
}

#define NAMES(declaration, name, call, tag, folder, path, to_folder, to) \
    declaration { \
        REAL(name); \
        pthread_mutex_lock(&lock); \
        int answer = renamed(real call, tag, folder, path, to_folder, to); \
        pthread_mutex_unlock(&lock); \
        return answer; \
    }
NAMES(int rename(const char *a, const char *b), rename, (a, b), 'r', AT_FDCWD, a, AT_FDCWD, b)
NAMES(int renameat(int f, const char *a, int g, const char *b), renameat, (f, a, g, b), 'r', f, a, g, b)
NAMES(int link(const char *a, const char *b), link, (a, b), 'l', AT_FDCWD, a, AT_FDCWD, b)
NAMES(int linkat(int f, const char *a, int g, const char *b, int flags), linkat, (f, a, g, b, flags), 'l', f, a, g, b)
NAMES(int unlink(const char *a), unlink, (a), 'u', AT_FDCWD, a, 0, NULL)
NAMES(int unlinkat(int f, const char *a, int flags), unlinkat, (f, a, flags), 'u', f, a, 0, NULL)
NAMES(int remove(const char *a), remove, (a), 'u', AT_FDCWD, a, 0, NULL)
NAMES(int rmdir(const char *a), rmdir, (a), 'u', AT_FDCWD, a, 0, NULL)
NAMES(int mkdir(const char *a, mode_t mode), mkdir, (a, mode), 'm', AT_FDCWD, a, 0, NULL)
NAMES(int mkdirat(int f, const char *a, mode_t mode), mkdirat, (f, a, mode), 'm', f, a, 0, NULL)

int renameat2(int f, const char *a, int g, const char *b, unsigned flags) {
    REAL(renameat2);
    char name[PATH_MAX];
    if (flags & ~(unsigned)RENAME_NOREPLACE && (below(f, a, name) || below(g, b, name)))
        give_up("this way of renameat2 is not recorded");
    pthread_mutex_lock(&lock);
    int answer = renamed(real(f, a, g, b, flags), 'r', f, a, g, b);
    pthread_mutex_unlock(&lock);
    return answer;
}

/* What the log has no word for. */

int symlink(const char *target, const char *path) {
    REAL(symlink);
    char name[PATH_MAX];
    if (below(AT_FDCWD, path, name)) give_up("symbolic links are not recorded");
    return real(target, path);
}

ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t n, unsigned flags) {
    REAL(copy_file_range);
    if (handle(to)) give_up("copy_file_range is not recorded");
    return real(from, from_at, to, to_at, n, flags);
}

ssize_t sendfile(int to, int from, off_t *at, size_t n) {
    REAL(sendfile);
    if (handle(to)) give_up("sendfile is not recorded");
    return real(to, from, at, n);
}

ssize_t sendfile64(int to, int from, off64_t *at, size_t n) {
    REAL(sendfile64);
    if (handle(to)) give_up("sendfile is not recorded");
    return real(to, from, at, n);
}

ssize_t splice(int from, off64_t *from_at, int to, off64_t *to_at, size_t n, unsigned flags) {
    REAL(splice);
    if (handle(to)) give_up("splice is not recorded");
    return real(from, from_at, to, to_at, n, flags);
}

ssize_t pwritev2(int fd, const struct iovec *parts, int n, off_t at, int flags) {
    REAL(pwritev2);
    if (handle(fd)) give_up("pwritev2 is not recorded");
    return real(fd, parts, n, at, flags);
}

#define MMAP(name, offset_type) \
    void *name(void *to, size_t n, int protection, int flags, int fd, offset_type at) { \
        REAL(name); \
        if (handle(fd) && protection & PROT_WRITE && flags & MAP_SHARED) give_up("writable mappings are not recorded"); \
        return real(to, n, protection, flags, fd, at); \
    }
MMAP(mmap, off_t)
MMAP(mmap64, off64_t)
