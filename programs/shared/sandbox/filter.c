/* Builds a filter of system calls from a table and installs it by seccomp(2). Called by
 * sandbox.c. The kernel's filter sees the number and arguments of each call, but not the memory
 * that pointers point at. So it can check flags, but not paths, which landlock.c restricts.
 * Changes what this process may call. */
#include "programs/shared/sandbox/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/videodev2.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#if defined __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined __arm__ && defined __ARM_EABI__
#define ARCHITECTURE AUDIT_ARCH_ARM
#endif

#if defined ARCHITECTURE && defined SYS_seccomp

/* Numbers of calls that older kernel headers lack. */
#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

enum when { ALWAYS, OPENING, OUTPUTS, SERVING, CAMERA };

/* A call that is allowed if (argument & mask) == value and the argument after it has no bit of
 * `none`; mask 0: with any arguments. Only the lower 32 bits of arguments are compared, because
 * the kernel uses these arguments as ints. */
struct allowed {
  int number;
  enum when when;
  int argument;
  uint32_t mask, value, none;
};

/* Flags of open() that are forbidden for files to be read: those that write or create a file. */
enum { WRITES = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY) };
/* Permissions that new files may have: not executable, not set-user-ID. */
#define FILE_RIGHTS 0666u
/* Flags that F_SETFL may set; musl sets O_LARGEFILE. O_ASYNC must be forbidden, since it would
 * make the kernel send signals to other processes, such as those on the same terminal. */
#define READING_FLAGS ((uint32_t)(O_DIRECT | O_LARGEFILE))
/* Flags that a call of clone() must have to start a thread, which shares everything with its
 * process. It may not create namespaces. */
enum { SHARES = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD };
#define NAMESPACES \
  (0x02000000u | 0x04000000u | 0x08000000u | 0x10000000u | 0x20000000u | 0x40000000u | \
   0x00020000u | 0x00000080u)

static const struct allowed allowed[] = {
#ifdef SYS_io_uring_enter
    {.number = SYS_io_uring_enter},
#endif
#ifdef SYS_futex
    {.number = SYS_futex},
#endif
#ifdef SYS_futex_time64
    {.number = SYS_futex_time64},
#endif
    {.number = SYS_pread64},
    {.number = SYS_read},
    {.number = SYS_write},
    /* memory that cannot be executed */
    {.number = SYS_madvise},
#ifdef SYS_mmap
    {.number = SYS_mmap, .argument = 2, .mask = PROT_EXEC},
#endif
#ifdef SYS_mmap2
    {.number = SYS_mmap2, .argument = 2, .mask = PROT_EXEC},
#endif
    {.number = SYS_mprotect, .argument = 2, .mask = PROT_EXEC},
    {.number = SYS_munmap},
    {.number = SYS_mremap},
    {.number = SYS_brk},
    {.number = SYS_mlock},
#ifdef SYS_mlock2
    {.number = SYS_mlock2},
#endif
    {.number = SYS_munlock},
    {.number = SYS_munlockall},
    /* files that are open, or are opened for reading */
    {.number = SYS_openat, .argument = 2, .mask = WRITES},
#ifdef SYS_open
    {.number = SYS_open, .argument = 1, .mask = WRITES},
#endif
    {.number = SYS_close},
    {.number = SYS_lseek},
#ifdef SYS__llseek
    {.number = SYS__llseek},
#endif
    {.number = SYS_readv},
    {.number = SYS_preadv},
    {.number = SYS_preadv2},
    {.number = SYS_writev},
    {.number = SYS_pwrite64},
    {.number = SYS_fsync},
    {.number = SYS_fdatasync},
    {.number = SYS_fstat},
#ifdef SYS_newfstatat
    {.number = SYS_newfstatat},
#endif
#ifdef SYS_fstatat64
    {.number = SYS_fstatat64},
    {.number = SYS_fstat64},
#endif
#ifdef SYS_stat
    {.number = SYS_stat},
    {.number = SYS_lstat},
#endif
#ifdef SYS_stat64
    {.number = SYS_stat64},
    {.number = SYS_lstat64},
#endif
#ifdef SYS_statx
    {.number = SYS_statx},
#endif
#ifdef SYS_access
    {.number = SYS_access},
#endif
    {.number = SYS_faccessat},
#ifdef SYS_readlink
    {.number = SYS_readlink},
#endif
    {.number = SYS_readlinkat},
    {.number = SYS_fstatfs},
#ifdef SYS_fstatfs64
    {.number = SYS_fstatfs64},
#endif
    {.number = SYS_getcwd},
    {.number = SYS_getdents64},
#ifdef SYS_fadvise64
    {.number = SYS_fadvise64},
#endif
#ifdef SYS_arm_fadvise64_64
    {.number = SYS_arm_fadvise64_64},
#endif
    {.number = SYS_readahead},
    {.number = SYS_cachestat},
    {.number = SYS_fcntl, .argument = 1, .mask = ~0u, .value = F_GETFD},
    {.number = SYS_fcntl, .argument = 1, .mask = ~0u, .value = F_GETFL},
    {.number = SYS_fcntl, .argument = 1, .mask = ~0u, .value = F_SETFL, .none = ~READING_FLAGS},
    {.number = SYS_fcntl, .argument = 1, .mask = ~0u, .value = F_DUPFD_CLOEXEC},
#ifdef SYS_fcntl64
    {.number = SYS_fcntl64, .argument = 1, .mask = ~0u, .value = F_GETFD},
    {.number = SYS_fcntl64, .argument = 1, .mask = ~0u, .value = F_GETFL},
    {.number = SYS_fcntl64, .argument = 1, .mask = ~0u, .value = F_SETFL, .none = ~READING_FLAGS},
    {.number = SYS_fcntl64, .argument = 1, .mask = ~0u, .value = F_DUPFD_CLOEXEC},
#endif
    {.number = SYS_ioctl,
     .argument = 1,
     .mask = ~0u,
     .value = TCGETS}, /* glibc and musl call it in isatty() */
    {.number = SYS_ioctl, .argument = 1, .mask = ~0u, .value = TIOCGWINSZ},
    {.number = SYS_ppoll},
#ifdef SYS_poll
    {.number = SYS_poll},
#endif
    {.number = SYS_io_submit},
    {.number = SYS_io_getevents},
    {.number = SYS_io_destroy},
#ifdef SYS_io_pgetevents
    {.number = SYS_io_pgetevents},
#endif
    /* time and information about the system and process */
    {.number = SYS_clock_gettime},
    {.number = SYS_clock_nanosleep},
#ifdef SYS_clock_gettime64
    {.number = SYS_clock_gettime64},
    {.number = SYS_clock_nanosleep_time64},
    {.number = SYS_ppoll_time64},
#endif
    {.number = SYS_nanosleep},
    {.number = SYS_gettimeofday},
    {.number = SYS_getrusage},
    {.number = SYS_sysinfo},
    {.number = SYS_uname},
    {.number = SYS_getpid},
    {.number = SYS_gettid},
    {.number = SYS_getuid},
    {.number = SYS_geteuid},
    {.number = SYS_getgid},
    {.number = SYS_getegid},
    {.number = SYS_getrandom},
    {.number = SYS_sched_getaffinity},
    {.number = SYS_sched_setaffinity, .mask = ~0u, .value = 0}, /* of the calling thread only */
    {.number = SYS_sched_yield},
#ifdef SYS_getrlimit
    {.number = SYS_getrlimit},
#endif
    /* signal handling, and exit; sending signals is restricted to this process (tgkill, below) */
    {.number = SYS_rt_sigaction},
    {.number = SYS_rt_sigprocmask},
    {.number = SYS_rt_sigreturn},
#ifdef SYS_sigreturn
    {.number = SYS_sigreturn},
#endif
    {.number = SYS_sigaltstack},
    {.number = SYS_restart_syscall},
    {.number = SYS_exit},
    {.number = SYS_exit_group},
    /* calls that a new thread makes first, possibly after the narrower filter is installed */
    {.number = SYS_set_robust_list},
#ifdef SYS_rseq
    {.number = SYS_rseq},
#endif
    /* starting threads, creating rings and pipes, installing the narrower filter */
    {.number = SYS_clone, .when = OPENING, .mask = SHARES | NAMESPACES, .value = SHARES},
#ifdef SYS_io_uring_setup
    {.number = SYS_io_uring_setup, .when = OPENING},
    {.number = SYS_io_uring_register, .when = OPENING},
#endif
    {.number = SYS_io_setup, .when = OPENING},
    {.number = SYS_pipe2, .when = OPENING}, /* to look at the first bytes of a pipe */
    {.number = SYS_tee, .when = OPENING},
    {.number = SYS_seccomp, .when = OPENING, .mask = ~0u, .value = SECCOMP_SET_MODE_FILTER},
    /* outputs: create a temporary file beside the output, then rename it */
    {.number = SYS_openat, .when = OUTPUTS, .argument = 3, .mask = ~FILE_RIGHTS},
#ifdef SYS_open
    {.number = SYS_open, .when = OUTPUTS, .argument = 2, .mask = ~FILE_RIGHTS},
#endif
#ifdef SYS_rename
    {.number = SYS_rename, .when = OUTPUTS},
#endif
#ifdef SYS_renameat
    {.number = SYS_renameat, .when = OUTPUTS},
#endif
    {.number = SYS_renameat2, .when = OUTPUTS},
#ifdef SYS_unlink
    {.number = SYS_unlink, .when = OUTPUTS},
#endif
    {.number = SYS_unlinkat, .when = OUTPUTS},
    /* serving: accept connections at the listeners, and empty the files of request bodies */
    {.number = SYS_accept4,
     .when = SERVING,
     .mask = ~(uint32_t)(MAFAT_SANDBOX_LISTENERS - 1),
     .value = MAFAT_SANDBOX_FIRST_LISTENER},
    {.number = SYS_shutdown, .when = SERVING, .argument = 1, .mask = ~0u, .value = SHUT_WR},
    {.number = SYS_ftruncate,
     .when = SERVING,
     .mask = ~(uint32_t)(MAFAT_SANDBOX_BODIES - 1),
     .value = MAFAT_SANDBOX_FIRST_BODY},
#ifdef SYS_ftruncate64
    {.number = SYS_ftruncate64,
     .when = SERVING,
     .mask = ~(uint32_t)(MAFAT_SANDBOX_BODIES - 1),
     .value = MAFAT_SANDBOX_FIRST_BODY},
#endif
    /* the only calls a running camera needs; all others were made when it was opened */
    {.number = SYS_ioctl,
     .when = CAMERA,
     .argument = 1,
     .mask = ~0u,
     .value = (uint32_t)VIDIOC_STREAMON},
    {.number = SYS_ioctl,
     .when = CAMERA,
     .argument = 1,
     .mask = ~0u,
     .value = (uint32_t)VIDIOC_DQBUF},
    {.number = SYS_ioctl,
     .when = CAMERA,
     .argument = 1,
     .mask = ~0u,
     .value = (uint32_t)VIDIOC_QBUF},
};

enum { N_ALLOWED = sizeof allowed / sizeof *allowed, FEW = 4, ROOM = 10 * N_ALLOWED + 64 };

struct program {
  struct sock_filter code[ROOM];
  int n;
};

static void put(struct program *p, uint16_t code, uint32_t k, uint8_t if_so, uint8_t if_not)
{
  p->code[p->n++] = (struct sock_filter){code, if_so, if_not, k};
}

static void load(struct program *p, size_t offset)
{
  put(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}
static void answer(struct program *p, uint32_t k) { put(p, BPF_RET | BPF_K, k, 0, 0); }

/* Returns the offset of the lower 32 bits of argument i. All architectures of this file are
 * little-endian. */
static size_t argument_at(int i)
{
  return offsetof(struct seccomp_data, args) + sizeof(uint64_t) * (size_t)i;
}

/* Writes the instructions that allow the call. Before and after them, the filter's accumulator
 * holds the call's number. */
static void allow(struct program *p, const struct allowed *a)
{
  if (!a->mask) {
    put(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)a->number, 0, 1);
    answer(p, SECCOMP_RET_ALLOW);
    return;
  }
  const int more = a->none ? 2 : 0;
  put(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)a->number, 0, (uint8_t)(5 + more));
  load(p, argument_at(a->argument));
  put(p, BPF_ALU | BPF_AND | BPF_K, a->mask, 0, 0);
  put(p, BPF_JMP | BPF_JEQ | BPF_K, a->value, 0, (uint8_t)(1 + more));
  if (a->none) {
    load(p, argument_at(a->argument + 1));
    put(p, BPF_JMP | BPF_JSET | BPF_K, a->none, 1, 0);
  }
  answer(p, SECCOMP_RET_ALLOW);
  load(p, offsetof(struct seccomp_data, nr));
}

/* Writes the rules, which are sorted by number, as a binary tree of comparisons. When a filter is
 * installed, the kernel runs it for each call number, to find calls that are always allowed. With
 * a list of two hundred instructions that would take 0.2 ms. */
static void allow_some(struct program *p, const struct allowed *const *rules, int n)
{
  int left = n / 2;
  while (left < n && left > 0 && rules[left]->number == rules[left - 1]->number) left++;
  if (n <= FEW || left == n) {
    for (int i = 0; i < n; i++) allow(p, rules[i]);
    answer(p, SECCOMP_RET_ERRNO | EPERM);
    return;
  }
  put(p, BPF_JMP | BPF_JGE | BPF_K, (uint32_t)rules[left]->number, 0, 1);
  const int jump = p->n;
  put(p, BPF_JMP | BPF_JA, 0, 0, 0);
  allow_some(p, rules, left);
  p->code[jump].k = (uint32_t)(p->n - jump - 1);
  allow_some(p, rules + left, n - left);
}

/* Allows prlimit64 to read the limits of this process; not to set them, nor to read those of
 * others. */
static void allow_reading_limits(struct program *p)
{
  put(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_prlimit64, 0, 8);
  load(p, argument_at(0));
  put(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 5);
  load(p, argument_at(2));
  put(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3);
  load(p, argument_at(2) + 4);
  put(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1);
  answer(p, SECCOMP_RET_ALLOW);
  load(p, offsetof(struct seccomp_data, nr));
}

/* Lists the permitted rules and `more`, sorted by number, and returns their count. Insertion
 * sort, because the table is nearly sorted. */
static int choose(const struct allowed **rules, const struct allowed *more,
                  const struct mafat_filter_permissions *permissions)
{
  int n = 0;
  for (int i = -1; i < N_ALLOWED; i++) {
    const struct allowed *a = i < 0 ? more : &allowed[i];
    if ((a->when == OPENING && !permissions->opening) ||
        (a->when == OUTPUTS && !permissions->outputs) ||
        (a->when == SERVING && !permissions->serving) ||
        (a->when == CAMERA && !permissions->camera))
      continue;
    int at = n++;
    for (; at > 0 && rules[at - 1]->number > a->number; at--) rules[at] = rules[at - 1];
    rules[at] = a;
  }
  return n;
}

static void begin_program(struct program *p)
{
  p->n = 0;
  load(p, offsetof(struct seccomp_data, arch));
  put(p, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
  answer(p, SECCOMP_RET_KILL_PROCESS);
  load(p, offsetof(struct seccomp_data, nr));
}

static void write_program(struct program *p, const struct mafat_filter_permissions *permissions)
{
  const struct allowed *rules[N_ALLOWED + 1];
  /* tgkill to this process only: abort(3) uses it, and handlers that end the process by the
   * signal they caught. */
  const struct allowed itself = {.number = SYS_tgkill, .mask = ~0u, .value = (uint32_t)getpid()};
  const int n = choose(rules, &itself, permissions);
  begin_program(p);
#ifdef SYS_clone3
  /* The filter cannot see the flags of clone3, which are in memory. After ENOSYS libraries call
   * clone instead. */
  put(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1);
  answer(p, SECCOMP_RET_ERRNO | ENOSYS);
#endif
  allow_reading_limits(p);
  allow_some(p, rules, n);
}

/* Writes a second filter, which refuses what the first one allows with `opening`. It can allow
 * all other calls, because the first filter stays and still refuses what it refused. */
static void write_narrower(struct program *p)
{
  begin_program(p);
  for (int i = 0; i < N_ALLOWED; i++) {
    if (allowed[i].when != OPENING) continue;
    put(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)allowed[i].number, 0, 1);
    answer(p, SECCOMP_RET_ERRNO | EPERM);
  }
  answer(p, SECCOMP_RET_ALLOW);
}

static int install(const struct program *p)
{
  const struct sock_fprog all = {.len = (unsigned short)p->n,
                                 .filter = (struct sock_filter *)(uintptr_t)p->code};
  /* Before Linux 5.16 a filter turned on a slow protection against speculative execution, unless
   * this flag was given. */
  const unsigned long flags = SECCOMP_FILTER_FLAG_TSYNC,
                      fast = flags | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, fast, &all) == 0) return 0;
  if (errno == EINVAL && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &all) == 0) return 0;
  return errno;
}

int mafat_filter_install(const struct mafat_filter_permissions *permissions)
{
  struct program p;
  write_program(&p, permissions);
  return install(&p);
}

int mafat_filter_narrow(void)
{
  struct program p;
  write_narrower(&p);
  return install(&p);
}

#else

int mafat_filter_install(const struct mafat_filter_permissions *permissions)
{
  (void)permissions;
  return ENOSYS;
}

int mafat_filter_narrow(void) { return ENOSYS; }

#endif
