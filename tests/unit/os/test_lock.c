/* Covers runner/os/{lock, pressure, process}.c: which memory is locked, when, and under which
 * limits; how long, as the kernel reports it, processes waited for memory. Writes files of a system
 * to a folder in /tmp (tests/support/tree.h), changes the process's limit and capability for
 * locking, and starts a child process. */
#include "runner/os/lock.h"
#include "runner/os/pressure.h"
#include "runner/os/process.h"
#include "api/model.h"
#include "tests/support/support.h"
#include "tests/support/tree.h"

#include <check.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *lock_suite(void);

#define MIB ((size_t)1 << 20)

static const char v2_mounts[] =
    "31 24 0:27 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
static const char v1_mounts[] = "33 31 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
static const char hybrid_mounts[] =
    "33 31 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "34 31 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

static void put_groups(const char *groups, const char *mounts)
{
  test_tree_put("/proc/self/cgroup", groups);
  test_tree_put("/proc/self/mountinfo", mounts);
}

/* ---- rights ---- */

/* Drops CAP_IPC_LOCK, with which locking has no limit. given: takes it back, if the process is
 * permitted to have it. */
static void set_right(bool given)
{
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct data[2];
  ck_assert_int_eq(syscall(SYS_capget, &header, data), 0);
  unsigned bit = 1u << CAP_IPC_LOCK;
  data[0].effective =
      given ? data[0].effective | (data[0].permitted & bit) : data[0].effective & ~bit;
  ck_assert_int_eq(syscall(SYS_capset, &header, data), 0);
}

static struct rlimit usual_limit;

static void limit_locks(rlim_t bytes)
{
  ck_assert_int_eq(getrlimit(RLIMIT_MEMLOCK, &usual_limit), 0);
  struct rlimit less = {bytes < usual_limit.rlim_max ? bytes : usual_limit.rlim_max,
                        usual_limit.rlim_max};
  ck_assert_int_eq(setrlimit(RLIMIT_MEMLOCK, &less), 0);
  set_right(false);
}

static void unlimit_locks(void)
{
  set_right(true);
  ck_assert_int_eq(setrlimit(RLIMIT_MEMLOCK, &usual_limit), 0);
}

/* True if this user may lock that many bytes, and the kernel supports it. */
static bool may_lock(size_t bytes)
{
  struct mafat_lock lock = {.mode = MAFAT_LOCK_ON};
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert_ptr_ne(page, MAP_FAILED);
  int error = mafat_lock_pages(page, 4096);
  munmap(page, 4096);
  return !error && mafat_lock_decide(&lock, 0, bytes, test_tree(), NULL) == MAFAT_OK;
}

/* VmLck */
static size_t locked_bytes(void)
{
  char line[256];
  size_t kb = 0;
  FILE *file = fopen("/proc/self/status", "r");
  ck_assert_ptr_nonnull(file);
  while (fgets(line, sizeof line, file)) (void)sscanf(line, "VmLck: %zu", &kb);
  fclose(file);
  return kb << 10;
}

/* ---- to lock or not ---- */

START_TEST(test_names)
{
  struct mafat_diagnostic d;
  enum mafat_lock_mode mode;
  ck_assert(mafat_lock_find(&mode, NULL, &d) == MAFAT_OK && mode == MAFAT_LOCK_AUTO);
  ck_assert(mafat_lock_find(&mode, "auto", &d) == MAFAT_OK && mode == MAFAT_LOCK_AUTO);
  ck_assert(mafat_lock_find(&mode, "on", &d) == MAFAT_OK && mode == MAFAT_LOCK_ON);
  ck_assert(mafat_lock_find(&mode, "off", &d) == MAFAT_OK && mode == MAFAT_LOCK_OFF);
  ck_assert_int_eq(mafat_lock_find(&mode, "yes", &d), MAFAT_EINVAL);
  ck_assert_ptr_nonnull(strstr(d.text, "found yes"));
}
END_TEST

static const struct {
  const char *groups, *mounts, *file, *limit;
} limits[] = {
    {"0::/a\n", v2_mounts, "/sys/fs/cgroup/a/memory.max", "16777216\n"},
    {"0::/a/b\n", v2_mounts, "/sys/fs/cgroup/a/memory.max", "16777216\n"}, /* of an ancestor */
    {"4:memory:/a\n", v1_mounts, "/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "16777216\n"},
    {"4:memory:/a\n0::/\n", hybrid_mounts, "/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
     "16777216\n"},
};

START_TEST(test_auto_locks_what_fits_the_limit_of_a_group)
{
  struct mafat_lock lock = {.mode = MAFAT_LOCK_AUTO};
  put_groups(limits[_i].groups, limits[_i].mounts);
  test_tree_put(limits[_i].file, limits[_i].limit);
  ck_assert_int_eq(mafat_lock_decide(&lock, 16 * MIB, 4096, test_tree(), NULL), MAFAT_OK);
  ck_assert(lock.on && !lock.reason);
  ck_assert_int_eq(mafat_lock_decide(&lock, 16 * MIB + 1, 4096, test_tree(), NULL), MAFAT_OK);
  ck_assert(!lock.on && strstr(lock.reason, "limit"));
}
END_TEST

/* At least twice the charge has to be free, below the limit of the cgroup or in the machine. */
START_TEST(test_twice_the_charge_is_roomy)
{
  struct mafat_lock lock = {.mode = _i % 2 ? MAFAT_LOCK_OFF : MAFAT_LOCK_AUTO};
  if (_i < 2) {
    put_groups(limits[0].groups, limits[0].mounts);
    test_tree_put(limits[0].file, "33554432\n");
  } else {
    test_tree_put("/proc/meminfo", "MemTotal: 262144 kB\nMemAvailable: 49152 kB\n");
  }
  ck_assert_int_eq(mafat_lock_decide(&lock, 16 * MIB, 4096, test_tree(), NULL), MAFAT_OK);
  ck_assert(lock.roomy);
  ck_assert_int_eq(mafat_lock_decide(&lock, 16 * MIB + 1, 4096, test_tree(), NULL), MAFAT_OK);
  ck_assert(!lock.roomy);
}
END_TEST

/* Memory with huge pages begins where one may begin. Its whole huge pages are marked for them, the
 * rest is not, so that what becomes resident is at most the mapping. */
START_TEST(test_only_whole_huge_pages)
{
  static const size_t sizes[] = {4096, MIB, 2 * MIB, 5 * MIB + 4097};
  char setting[64] = "";
  FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
  if (f && !fgets(setting, sizeof setting, f)) setting[0] = '\0';
  if (f) fclose(f);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    size_t huge = sizes[i] / (2 * MIB) * (2 * MIB);
    char *memory = mafat_process_map(sizes[i] + 4096, sizes[i]);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    if (huge) ck_assert_uint_eq((uintptr_t)memory % (2 * MIB), 0);
    memory[sizes[i] - 1] = 1; /* in the rest, unless there is none */
    if (sizes[i] > huge && !strstr(setting, "[always]")) /* else the kernel chooses */
      ck_assert_uint_le(mafat_process_resident_bytes_of(memory, (sizes[i] + 4095) / 4096 * 4096),
                        4096);
    memset(memory, 1, sizes[i]);
    ck_assert_int_eq(munmap(memory, sizes[i] + 4096), 0);
  }
}
END_TEST

START_TEST(test_without_a_limit_auto_locks_nothing)
{
  struct mafat_lock lock = {.mode = MAFAT_LOCK_AUTO};
  ck_assert_int_eq(mafat_lock_decide(&lock, 4096, 4096, test_tree(), NULL),
                   MAFAT_OK); /* no groups */
  ck_assert(!lock.on && strstr(lock.reason, "no cgroup"));
  put_groups("0::/a\n", v2_mounts);
  test_tree_put("/sys/fs/cgroup/a/memory.max", "max\n");
  ck_assert_int_eq(mafat_lock_decide(&lock, 4096, 4096, test_tree(), NULL), MAFAT_OK);
  ck_assert(!lock.on && strstr(lock.reason, "no cgroup"));
  test_tree_put("/sys/fs/cgroup/a/memory.max", "4398046511104\n"); /* more than the machine has */
  ck_assert_int_eq(mafat_lock_decide(&lock, 4096, 4096, test_tree(), NULL), MAFAT_OK);
  ck_assert(!lock.on && strstr(lock.reason, "no cgroup"));
}
END_TEST

START_TEST(test_on_and_off_ask_no_group)
{
  struct mafat_lock lock = {.mode = MAFAT_LOCK_ON};
  ck_assert_int_eq(mafat_lock_decide(&lock, SIZE_MAX, 4096, test_tree(), NULL), MAFAT_OK);
  ck_assert(lock.on && !lock.reason);
  lock.mode = MAFAT_LOCK_OFF;
  ck_assert_int_eq(mafat_lock_decide(&lock, 4096, 4096, test_tree(), NULL), MAFAT_OK);
  ck_assert(!lock.on && !lock.reason);
}
END_TEST

START_TEST(test_more_than_the_process_may_lock)
{
  struct mafat_diagnostic d;
  struct mafat_lock lock = {.mode = MAFAT_LOCK_ON};
  put_groups(limits[0].groups, limits[0].mounts);
  test_tree_put(limits[0].file, limits[0].limit);
  limit_locks(16384);
  int code = mafat_lock_decide(&lock, MIB, MIB, test_tree(), &d);
  bool on = lock.on;
  lock.mode = MAFAT_LOCK_AUTO;
  int automatic = mafat_lock_decide(&lock, MIB, MIB, test_tree(), NULL);
  unlimit_locks();
  ck_assert(code == MAFAT_ELIMIT && !on);
  ck_assert_ptr_nonnull(
      strstr(d.text, "cannot lock 1048576 bytes: the process may lock 16384 (RLIMIT_MEMLOCK"));
  ck_assert(automatic == MAFAT_OK && !lock.on && strcmp(lock.reason, "RLIMIT_MEMLOCK") == 0);
}
END_TEST

/* After the decision to lock, another thread may use up the limit; then the lock itself fails. */
START_TEST(test_a_lock_that_fails_after_all)
{
  struct mafat_diagnostic d;
  struct mafat_lock lock = {.mode = MAFAT_LOCK_AUTO, .on = true};
  char *memory = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert_ptr_ne(memory, MAP_FAILED);
  limit_locks(16384);
  int automatic = mafat_lock_take(&lock, memory, MIB, NULL);
  bool on = lock.on;
  lock = (struct mafat_lock){.mode = MAFAT_LOCK_ON, .on = true};
  int code = mafat_lock_take(&lock, memory, MIB, &d);
  unlimit_locks();
  munmap(memory, MIB);
  ck_assert(automatic == MAFAT_OK && !on);
  ck_assert(code == MAFAT_ELIMIT && strstr(d.text, "cannot lock"));
}
END_TEST

/* Makes mlock2 fail with ENOSYS from now on, as old kernels do. False: the filter cannot be
 * installed. */
static bool forget_mlock2(void)
{
  struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                        offsetof(struct seccomp_data, nr)),
                               BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mlock2, 0, 1),
                               BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                               BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog filter = {sizeof code / sizeof *code, code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/* Runs in a child process, and returns its exit status. 77: the test cannot run. Without mlock2, a
 * lock would bring in all pages at once, so nothing may be locked or become resident. */
static int lock_without_mlock2(void)
{
  struct mafat_lock lock = {.mode = MAFAT_LOCK_AUTO, .on = true};
  struct mafat_diagnostic d = {""};
  char *memory = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!forget_mlock2()) return 77;
  if (mafat_lock_take(&lock, memory, MIB, NULL) != MAFAT_OK || lock.on ||
      strcmp(lock.reason, "not by this system") != 0)
    return 1;
  if (mafat_process_resident_bytes_of(memory, MIB) > 0) return 2;
  lock = (struct mafat_lock){.mode = MAFAT_LOCK_ON, .on = true};
  return mafat_lock_take(&lock, memory, MIB, &d) == MAFAT_ELIMIT && strstr(d.text, strerror(ENOSYS))
             ? 0
             : 3;
}

START_TEST(test_kernels_that_lock_only_all_at_once)
{
  int status;
  pid_t child = fork();
  if (child == 0) _exit(lock_without_mlock2());
  ck_assert(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
  ck_assert_msg(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77, "%d", WEXITSTATUS(status));
}
END_TEST

/* mafat_lock_decide does not blame a limit on locks for memory that cannot be mapped at all: it
 * turns locking on, and the real mapping reports the failure. */
START_TEST(test_an_address_space_that_is_too_small)
{
  struct mafat_lock lock = {.mode = MAFAT_LOCK_ON};
  if (!may_lock(MIB)) return;
  ck_assert_int_eq(mafat_lock_decide(&lock, 0, SIZE_MAX / 2 + 1, test_tree(), NULL), MAFAT_OK);
  ck_assert(lock.on && !lock.reason);
}
END_TEST

/* ---- models ---- */

static const char cfg[] = "[net]\nwidth=64\nheight=64\nchannels=3\n"
                          "[convolutional]\nfilters=16\nsize=3\npad=1\nactivation=leaky\n"
                          "[maxpool]\nsize=2\nstride=2\n"
                          "[convolutional]\nfilters=9\nsize=1\nactivation=linear\n";
enum { INPUTS = 3 * 64 * 64, OUTPUTS = 9 * 32 * 32 };
static float input[INPUTS], output[OUTPUTS];

static struct mafat_model *try_to_open(const struct test_model_files *files, const char *lock,
                                       struct mafat_arena *arena, int *code,
                                       struct mafat_diagnostic *d)
{
  struct mafat_model_options o = {.size = sizeof o};
  struct mafat_model *m;
  o.floats_only = true;
  o.plan = "1x1/NoCut";
  o.memory_bytes = 512 * MIB; /* room for sanitizers, too */
  o.lock = lock;
  o.arena = arena;
  *code = mafat_model_open(&m, files->cfg, files->weights, &o, d);
  return m;
}

static struct mafat_model *open_model(const struct test_model_files *files, const char *lock,
                                      struct mafat_arena *arena)
{
  struct mafat_diagnostic d;
  int code;
  struct mafat_model *m = try_to_open(files, lock, arena, &code, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  return m;
}

static struct mafat_model_facts facts_of(const struct mafat_model *m)
{
  struct mafat_model_facts f = {.size = sizeof f};
  mafat_model_describe(m, &f);
  return f;
}

static struct mafat_plan_facts plan_of(const struct mafat_model *m)
{
  struct mafat_plan_facts f = {.size = sizeof f};
  mafat_model_describe_plan(m, &f);
  return f;
}

static size_t whole_pages(size_t bytes)
{
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return (bytes + page - 1) / page * page;
}

static void run(struct mafat_model *m, bool first)
{
  static float before[OUTPUTS];
  ck_assert_int_eq(mafat_model_run_floats(m, input, INPUTS, NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_model_read_layer(m, mafat_model_n_layers(m) - 1, output, NULL), MAFAT_OK);
  if (!first) ck_assert_mem_eq(before, output, sizeof output);
  memcpy(before, output, sizeof output);
}

START_TEST(test_a_model_locks_its_arena_and_what_it_keeps)
{
  struct test_model_files files = test_model_files(cfg, 1);
  size_t before = locked_bytes();
  for (int i = 0; i < INPUTS; i++) input[i] = (float)(i % 89) / 89;
  struct mafat_model *m = open_model(&files, "off", NULL);
  struct mafat_model_facts f = facts_of(m);
  ck_assert(strcmp(f.lock, "off") == 0 && !f.lock_reason && f.locked_bytes == 0 &&
            locked_bytes() == before);
  run(m, true);
  mafat_model_close(&m);
  if (may_lock(2 * MIB)) {
    m = open_model(&files, "on", NULL);
    f = facts_of(m);
    ck_assert(strcmp(f.lock, "on") == 0 && !f.lock_reason);
    ck_assert_uint_eq(f.locked_bytes, f.kept_weights_bytes + plan_of(m).arena_bytes);
    size_t locked = whole_pages(f.kept_weights_bytes) + whole_pages(plan_of(m).arena_bytes);
    ck_assert_uint_eq(locked_bytes() - before, locked);
    run(m, false);
    mafat_model_rest(m); /* gives pages back that are locked, and gets them again */
    run(m, false);
    ck_assert_uint_eq(locked_bytes() - before, locked);
    mafat_model_close(&m);
    ck_assert_uint_eq(locked_bytes(), before);
  }
  test_model_files_close(&files);
}
END_TEST

START_TEST(test_a_shared_arena_is_locked_for_all)
{
  struct test_model_files files = test_model_files(cfg, 1);
  struct mafat_arena *arena;
  size_t before = locked_bytes();
  ck_assert_int_eq(mafat_arena_open(&arena, NULL), MAFAT_OK);
  struct mafat_model *one = open_model(&files, "off", arena);
  ck_assert_uint_eq(facts_of(one).locked_bytes, 0);
  if (may_lock(2 * MIB)) {
    struct mafat_model *other = open_model(&files, "on", arena);
    ck_assert_uint_eq(facts_of(one).locked_bytes, plan_of(one).arena_bytes);
    ck_assert_str_eq(facts_of(one).lock, "off");
    mafat_model_rest(one);
    run(one, true);
    run(other, false);
    mafat_model_close(&other);
    ck_assert_uint_eq(locked_bytes() - before, whole_pages(plan_of(one).arena_bytes));
  }
  mafat_model_close(&one);
  ck_assert_uint_eq(locked_bytes(), before);
  mafat_arena_close(&arena);
  test_model_files_close(&files);
}
END_TEST

START_TEST(test_a_model_that_may_not_lock_is_refused)
{
  struct test_model_files files = test_model_files(cfg, 1);
  struct mafat_diagnostic d;
  int code, automatic;
  limit_locks(16384);
  struct mafat_model *on = try_to_open(&files, "on", NULL, &code, &d);
  struct mafat_model *m = try_to_open(&files, NULL, NULL, &automatic, NULL);
  unlimit_locks();
  ck_assert(code == MAFAT_ELIMIT && !on && strstr(d.text, "RLIMIT_MEMLOCK"));
  ck_assert_int_eq(automatic, MAFAT_OK);
  struct mafat_model_facts f = facts_of(m);
  ck_assert(strcmp(f.lock, "off") == 0 && f.lock_reason && f.locked_bytes == 0);
  mafat_model_close(&m);
  ck_assert(!try_to_open(&files, "sometimes", NULL, &code, &d) && code == MAFAT_EINVAL);
  test_model_files_close(&files);
}
END_TEST

START_TEST(test_the_reserve_is_part_of_the_charge)
{
  struct test_model_files files = test_model_files(cfg, 1);
  struct mafat_model *m = open_model(&files, "off", NULL);
  struct mafat_model_facts f = facts_of(m);
  ck_assert_uint_eq(f.reserve_bytes, MAFAT_DEFAULT_RESERVE_BYTES);
  struct mafat_memory_facts memory = plan_of(m).memory;
  ck_assert_uint_ge(memory.rest, f.reserve_bytes);
  ck_assert_uint_ge(memory.charge_bytes, memory.resident_bytes + f.reserve_bytes);
  mafat_model_close(&m);
  test_model_files_close(&files);
}
END_TEST

/* ---- pressure ---- */

static const char pressure[] = "some avg10=0.00 avg60=1.20 avg300=0.00 total=123456\n"
                               "full avg10=0.00 avg60=0.10 avg300=0.00 total=23456\n";

static void check_pressure(const char *scope, uint64_t some_us, uint64_t full_us)
{
  struct mafat_pressure p;
  struct mafat_stall now;
  mafat_pressure_open(&p, test_tree());
  ck_assert(scope ? p.scope && strcmp(p.scope, scope) == 0 : !p.scope);
  ck_assert_int_eq(mafat_pressure_read(&p, &now), scope != NULL);
  ck_assert(now.some_us == some_us && now.full_us == full_us);
  mafat_pressure_close(&p);
  ck_assert(!mafat_pressure_read(&p, &now) && now.some_us == 0);
  mafat_pressure_close(&p);
}

START_TEST(test_the_pressure_of_a_group)
{
  put_groups("4:memory:/other\n0::/a/b\n", hybrid_mounts);
  test_tree_put("/proc/pressure/memory", "some total=7\nfull total=5\n");
  check_pressure("system", 7, 5);
  test_tree_put("/sys/fs/cgroup/unified/a/b/cgroup.type", "domain\n");
  check_pressure("system", 7, 5); /* the system's figures: this kernel has none of groups */
  test_tree_put("/sys/fs/cgroup/unified/a/b/memory.pressure", pressure);
  check_pressure("cgroup", 123456, 23456);
}
END_TEST

START_TEST(test_the_root_of_the_groups_is_the_system)
{
  put_groups("0::/\n", v2_mounts);
  test_tree_put("/sys/fs/cgroup/memory.pressure", pressure);
  test_tree_put("/proc/pressure/memory", "some total=7\nfull total=5\n");
  check_pressure("system", 7, 5);
  test_tree_put("/sys/fs/cgroup/cgroup.type", "domain\n"); /* as the root of a namespace */
  check_pressure("cgroup", 123456, 23456);
}
END_TEST

static const char *const unknown[] = {"", "some\n", "some avg10=0.00 total=1\n", "total=1\n"};

START_TEST(test_pressure_that_is_not_reported)
{
  check_pressure(NULL, 0, 0);
  test_tree_put("/proc/pressure/memory", unknown[_i]);
  check_pressure(NULL, 0, 0);
}
END_TEST

START_TEST(test_a_run_tells_what_was_waited)
{
  struct test_model_files files = test_model_files(cfg, 1);
  struct mafat_model *m = open_model(&files, "off", NULL);
  struct mafat_run_facts f = {.size = sizeof f};
  for (int i = 0; i < 3; i++) {
    run(m, i == 0);
    mafat_model_last_run(m, &f);
    ck_assert(f.stall_scope ? f.stall_full_us <= f.stall_some_us
                            : f.stall_some_us == 0 && f.stall_full_us == 0);
    ck_assert_uint_lt(f.stall_some_us, 100000000);
  }
  mafat_model_close(&m);
  test_model_files_close(&files);
}
END_TEST

#define COUNT(list) (int)(sizeof(list) / sizeof(list)[0])

Suite *lock_suite(void)
{
  Suite *s = suite_create("lock");
  TCase *t = tcase_create("lock");
  suite_add_tcase(s, t);
  tcase_add_checked_fixture(t, test_tree_make, test_tree_remove);
  tcase_add_test(t, test_names);
  tcase_add_loop_test(t, test_auto_locks_what_fits_the_limit_of_a_group, 0, COUNT(limits));
  tcase_add_loop_test(t, test_twice_the_charge_is_roomy, 0, 4);
  tcase_add_test(t, test_only_whole_huge_pages);
  tcase_add_test(t, test_without_a_limit_auto_locks_nothing);
  tcase_add_test(t, test_on_and_off_ask_no_group);
  tcase_add_test(t, test_more_than_the_process_may_lock);
  tcase_add_test(t, test_a_lock_that_fails_after_all);
  tcase_add_test(t, test_kernels_that_lock_only_all_at_once);
  tcase_add_test(t, test_an_address_space_that_is_too_small);
  tcase_add_test(t, test_a_model_locks_its_arena_and_what_it_keeps);
  tcase_add_test(t, test_a_shared_arena_is_locked_for_all);
  tcase_add_test(t, test_a_model_that_may_not_lock_is_refused);
  tcase_add_test(t, test_the_reserve_is_part_of_the_charge);
  tcase_add_test(t, test_the_pressure_of_a_group);
  tcase_add_test(t, test_the_root_of_the_groups_is_the_system);
  tcase_add_loop_test(t, test_pressure_that_is_not_reported, 0, COUNT(unknown));
  tcase_add_test(t, test_a_run_tells_what_was_waited);
  return s;
}
