/* Covers runner/os/{budget, groups, lines}.c: memory budgets from the free memory of control groups
 * and from available memory, and processor quotas. Writes files like those of real systems to a
 * folder in /tmp (tests/support/tree.h): cgroup v1, v2, both, containers, and group paths that lead
 * out of a namespace. */
#include "runner/os/budget.h"
#include "runner/os/groups.h"
#include "tests/support/tree.h"

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

Suite *budget_suite(void);

#define MIB ((size_t)1 << 20)
#define UNLIMITED "9223372036854771712\n"

/* ---- a system of files ---- */

static void put(const char *path, const char *text)
{
  test_tree_put(path, text);
}

static void put_groups(const char *text)
{
  put("/proc/self/cgroup", text);
}

static void put_mounts(const char *text)
{
  put("/proc/self/mountinfo", text);
}

static const char v2_mounts[] =
    "24 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
    "31 24 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
static const char v1_mounts[] =
    "24 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
    "31 24 0:27 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755\n"
    "32 31 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "33 31 0:29 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n";
static const char hybrid_mounts[] =
    "33 31 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "34 31 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

static void check_budget(const char *source, size_t bytes)
{
  struct mafat_budget b;
  mafat_budget_find(&b, test_tree());
  ck_assert_str_eq(b.source, source);
  ck_assert_uint_eq(b.bytes, bytes);
}

static void check_limit(size_t bytes)
{
  check_budget("cgroup limit", bytes);
}

static void check_no_limit(void)
{
  check_budget("available memory", 1792 * MIB);
}

/* ---- available memory ---- */

START_TEST(without_groups_an_eighth_is_left_to_others)
{
  check_no_limit();
}
END_TEST

static const struct {
  const char *available_kb;
  size_t bytes;
} margins[] = {
    {"1048576", 896 * MIB}, {"131072", 112 * MIB}, {"65536", 48 * MIB},
    {"32768", 16 * MIB},    {"8192", 4 * MIB},
};

START_TEST(sixteen_megabytes_at_least_are_left_but_no_more_than_half)
{
  char text[96];
  snprintf(text, sizeof text, "MemTotal: 4194304 kB\nMemAvailable:   %s kB\n",
           margins[_i].available_kb);
  put("/proc/meminfo", text);
  check_budget("available memory", margins[_i].bytes);
}
END_TEST

START_TEST(without_proc_the_system_call_gives_the_free_memory)
{
  struct mafat_budget b;
  struct sysinfo s;
  put("/proc/meminfo", "");
  mafat_budget_find(&b, test_tree());
  ck_assert_str_eq(b.source, "available memory");
  ck_assert_int_eq(sysinfo(&s), 0);
  ck_assert_uint_gt(b.bytes, 0);
  ck_assert_uint_lt(b.bytes, (uint64_t)s.totalram * s.mem_unit);
}
END_TEST

/* Without /proc, for example in a container, the groups that are mounted in /sys/fs/cgroup
 * count. */
START_TEST(without_proc_the_visible_groups_count)
{
  char path[256];
  put("/sys/fs/cgroup/memory.max", "50331648\n");
  snprintf(path, sizeof path, "%s/proc/meminfo", test_tree());
  ck_assert_int_eq(unlink(path), 0);
  check_limit(48 * MIB);
  put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "25165824\n");
  check_limit(24 * MIB);
}
END_TEST

/* ---- v2 ---- */

START_TEST(v2_takes_the_smallest_of_a_group_and_its_ancestors)
{
  put_groups("0::/user.slice/app.scope/leaf\n");
  put_mounts(v2_mounts);
  put("/sys/fs/cgroup/user.slice/app.scope/leaf/memory.max", "max\n");
  put("/sys/fs/cgroup/user.slice/app.scope/memory.max", "67108864\n");
  put("/sys/fs/cgroup/user.slice/memory.max", "268435456\n");
  check_limit(64 * MIB);
  put("/sys/fs/cgroup/user.slice/app.scope/leaf/memory.max", "16777216\n");
  check_limit(16 * MIB);
  put("/sys/fs/cgroup/user.slice/memory.max", "8388608\n");
  check_limit(8 * MIB);
}
END_TEST

START_TEST(v2_without_limits)
{
  put_groups("0::/user.slice\n");
  put_mounts(v2_mounts);
  check_no_limit();
  put("/sys/fs/cgroup/user.slice/memory.max", "max\n");
  put("/sys/fs/cgroup/user.slice/memory.high", "max\n");
  put("/sys/fs/cgroup/user.slice/memory.swap.max", "0\n");
  check_no_limit();
}
END_TEST

/* Above memory.high the kernel slows processes down. Without swap, it may do so forever. */
START_TEST(v2_high_is_a_limit)
{
  struct mafat_limited_group g;
  put_groups("0::/user.slice/app\n");
  put_mounts(v2_mounts);
  put("/sys/fs/cgroup/user.slice/app/memory.max", "67108864\n");
  put("/sys/fs/cgroup/user.slice/memory.high", "41943040\n");
  check_limit(40 * MIB);
  mafat_groups_find_limit(&g, test_tree());
  ck_assert(g.throttles);
  ck_assert_str_eq(g.folder, "/sys/fs/cgroup/user.slice");
  put("/sys/fs/cgroup/user.slice/app/memory.high", "134217728\n");
  put("/sys/fs/cgroup/user.slice/memory.high", "max\n");
  check_limit(64 * MIB);
  mafat_groups_find_limit(&g, test_tree());
  ck_assert(!g.throttles);
}
END_TEST

START_TEST(v2_namespace_has_its_own_group_as_the_root)
{
  put_groups("0::/\n");
  put_mounts(v2_mounts);
  put("/sys/fs/cgroup/memory.max", "33554432\n");
  check_limit(32 * MIB);
}
END_TEST

static const char *const outside[] = {"0::/..\n", "0::/../..\n", "0::/../other/leaf\n"};

/* The process was put into the container from outside, so its group's path begins with "..". Such
 * paths are not followed: /sys/fs/cgroup/../other is not a group. */
START_TEST(v2_group_outside_of_the_namespace)
{
  put_groups(outside[_i]);
  put_mounts(v2_mounts);
  put("/sys/fs/cgroup/memory.max", "33554432\n");
  put("/sys/fs/other/leaf/memory.max", "1048576\n");
  put("/sys/fs/memory.max", "1048576\n");
  check_limit(32 * MIB);
}
END_TEST

START_TEST(a_group_may_be_named_with_two_points)
{
  put_groups("0::/..hidden\n");
  put_mounts(v2_mounts);
  put("/sys/fs/cgroup/..hidden/memory.max", "33554432\n");
  check_limit(32 * MIB);
}
END_TEST

START_TEST(v2_group_that_was_removed)
{
  put_groups("0::/a/b (deleted)\n");
  put_mounts(v2_mounts);
  put("/sys/fs/cgroup/a/memory.max", "33554432\n");
  check_limit(32 * MIB);
}
END_TEST

START_TEST(v2_elsewhere_with_a_space)
{
  put_groups("0::/a b\n");
  put_mounts("31 24 0:27 / /mnt/my\\040groups rw - cgroup2 none rw\n");
  put("/mnt/my groups/a b/memory.max", "33554432\n");
  check_limit(32 * MIB);
}
END_TEST

/* ---- v1 ---- */

START_TEST(v1_takes_the_smallest_of_a_group_and_its_ancestors)
{
  put_groups("9:name=systemd:/\n4:memory:/a/b\n2:cpu,cpuacct:/c\n");
  put_mounts(v1_mounts);
  put("/sys/fs/cgroup/memory/memory.limit_in_bytes", UNLIMITED);
  put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "33554432\n");
  put("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", UNLIMITED);
  put("/sys/fs/cgroup/memory/c/memory.limit_in_bytes", "1048576\n"); /* a group for cpu */
  check_limit(32 * MIB);
  put("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "8388608\n");
  check_limit(8 * MIB);
}
END_TEST

START_TEST(v1_unlimited_is_no_limit)
{
  put_groups("4:memory:/a\n");
  put_mounts(v1_mounts);
  put("/sys/fs/cgroup/memory/memory.limit_in_bytes", UNLIMITED);
  put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", UNLIMITED);
  put("/sys/fs/cgroup/memory/a/memory.memsw.limit_in_bytes", "33554432\n"); /* with swap */
  put("/sys/fs/cgroup/memory/a/memory.soft_limit_in_bytes", "33554432\n");
  check_no_limit();
}
END_TEST

START_TEST(v1_together_with_other_controllers)
{
  put_groups("4:cpu,memory:/a\n");
  put_mounts("33 31 0:29 / /sys/fs/cgroup/cpu,memory rw - cgroup cgroup rw,cpu,memory\n");
  put("/sys/fs/cgroup/cpu,memory/a/memory.limit_in_bytes", "33554432\n");
  check_limit(32 * MIB);
}
END_TEST

START_TEST(v1_ancestors_count_only_where_they_count_descendants)
{
  put_groups("4:memory:/a/b\n");
  put_mounts(v1_mounts);
  put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "33554432\n");
  put("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "67108864\n");
  put("/sys/fs/cgroup/memory/a/memory.use_hierarchy", "0\n");
  put("/sys/fs/cgroup/memory/a/b/memory.use_hierarchy", "0\n");
  check_limit(64 * MIB);
  put("/sys/fs/cgroup/memory/a/memory.use_hierarchy", "1\n");
  check_limit(32 * MIB);
}
END_TEST

/* Docker without a cgroup namespace: /proc/self/cgroup has the group's path on the host. Only this
 * group is mounted, where the whole hierarchy usually is. */
START_TEST(v1_container_mounts_its_own_group)
{
  put_groups("4:memory:/docker/0123\n");
  put_mounts("33 31 0:29 /docker/0123 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "33554432\n");
  check_limit(32 * MIB);
  put_groups("4:memory:/docker/0123/inner\n");
  put("/sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "16777216\n");
  check_limit(16 * MIB);
  put_groups("4:memory:/docker/01234\n"); /* not below the mounted group, which counts */
  check_limit(32 * MIB);
}
END_TEST

START_TEST(v1_knows_limits_above_what_is_mounted)
{
  put_groups("4:memory:/docker/0123\n");
  put_mounts("33 31 0:29 /docker/0123 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "33554432\n");
  put("/sys/fs/cgroup/memory/memory.stat",
      "cache 0\nrss 4096\nhierarchical_memory_limit 25165824\nhierarchical_memsw_limit 1048576\n");
  check_limit(24 * MIB);
}
END_TEST

/* Another mount of the hierarchy, of a group that the process is not in, is ignored. */
START_TEST(other_mounts_of_a_hierarchy_do_not_count)
{
  put_groups("4:memory:/docker/0123\n");
  put_mounts("30 1 0:29 /docker/9999 /watched rw - cgroup cgroup rw,memory\n"
             "33 31 0:29 / /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  put("/watched/memory.limit_in_bytes", "1048576\n");
  put("/sys/fs/cgroup/memory/docker/0123/memory.limit_in_bytes", "33554432\n");
  check_limit(32 * MIB);
}
END_TEST

START_TEST(namespace_of_groups_under_an_older_mount)
{
  put_groups("4:memory:/\n");
  put_mounts("33 31 0:29 /../.. /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "33554432\n"); /* limit of an ancestor */
  check_limit(32 * MIB);
}
END_TEST

/* ---- both ---- */

START_TEST(hybrid_takes_the_smaller_one)
{
  put_groups("4:memory:/a\n0::/b\n");
  put_mounts(hybrid_mounts);
  put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "33554432\n");
  check_limit(32 * MIB);
  put("/sys/fs/cgroup/unified/b/memory.max", "16777216\n");
  check_limit(16 * MIB);
  put("/sys/fs/cgroup/unified/b/memory.max", "67108864\n");
  check_limit(32 * MIB);
}
END_TEST

START_TEST(where_mounts_cannot_be_read_they_are_in_their_usual_places)
{
  put_groups("4:memory:/a\n0::/b\n");
  put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "33554432\n");
  check_limit(32 * MIB);
  put("/sys/fs/cgroup/unified/b/memory.max", "16777216\n");
  check_limit(16 * MIB);
  put("/sys/fs/cgroup/b/memory.max", "8388608\n");
  check_limit(8 * MIB);
}
END_TEST

START_TEST(a_limit_above_the_machine_is_none)
{
  put_groups("0::/a\n");
  put_mounts(v2_mounts);
  put("/sys/fs/cgroup/a/memory.max", "4294967296\n"); /* exactly the machine's memory */
  check_no_limit();
  put("/sys/fs/cgroup/a/memory.max", "4294963200\n");
  check_limit(4095 * MIB + 1020 * 1024);
}
END_TEST

/* ---- others in the group ---- */

/* A group with a limit of 64 MiB that uses 50 MiB: 8 for cached files, of which the kernel can drop
 * 6 (2 are locked), 3 for tmpfs, 36 for data, of which 5 are this process's, and 3 for the
 * kernel. */
static const char v2_stat[] = "anon 37748736\nfile 11534336\nkernel 3145728\nshmem 3145728\n"
                              "file_mapped 1048576\ninactive_anon 40894464\nactive_anon 0\n"
                              "inactive_file 4194304\nactive_file 2097152\nunevictable 2097152\n";
static const char v1_stat[] =
    "cache 0\nrss 4096\nshmem 0\nmapped_file 0\ninactive_file 0\nactive_file 0\nunevictable 0\n"
    "hierarchical_memory_limit 67108864\ntotal_cache 11534336\ntotal_rss 37748736\n"
    "total_shmem 3145728\ntotal_mapped_file 1048576\ntotal_inactive_anon 40894464\n"
    "total_active_anon 0\ntotal_inactive_file 4194304\ntotal_active_file 2097152\n"
    "total_unevictable 2097152\n";

static void put_procs(const char *folder, const char *procs)
{
  char path[256];
  snprintf(path, sizeof path, "%s/cgroup.procs", folder);
  put(path, procs);
}

static void put_full_group(bool v2)
{
  const char *folder = v2 ? "/sys/fs/cgroup/a/" : "/sys/fs/cgroup/memory/a/";
  char path[256];
  put_groups(v2 ? "0::/a\n" : "4:memory:/a\n");
  put_mounts(v2 ? v2_mounts : v1_mounts);
  const char *const files[][2] = {
      {v2 ? "memory.max" : "memory.limit_in_bytes", "67108864\n"},
      {v2 ? "memory.current" : "memory.usage_in_bytes", "52428800\n"},
      {"memory.stat", v2 ? v2_stat : v1_stat},
      {"memory.kmem.usage_in_bytes", "3145728\n"}};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    snprintf(path, sizeof path, "%s%s", folder, files[i][0]);
    put(path, files[i][1]);
  }
  put("/proc/self/smaps_rollup", "Rss: 9000 kB\nAnonymous:           5120 kB\n");
}

/* 50 MiB are used. 6 of them can be dropped and 5 are this process's, so others hold 39 MiB. */
START_TEST(what_others_hold_is_not_free)
{
  struct mafat_limited_group g;
  put_full_group(_i);
  check_budget("free in cgroup", 25 * MIB);
  mafat_groups_find_limit(&g, test_tree());
  ck_assert_uint_eq(g.limit, 64 * MIB);
  ck_assert_uint_eq(g.others, 39 * MIB);
  ck_assert_uint_eq(g.droppable, 5 * MIB);
}
END_TEST

/* The kernel charges some pages in advance. The usage counter includes them, memory.stat does not.
 * The smaller of counter and sum counts. */
START_TEST(the_smaller_account_counts)
{
  put_full_group(_i);
  put(_i ? "/sys/fs/cgroup/a/memory.current" : "/sys/fs/cgroup/memory/a/memory.usage_in_bytes",
      "54525952\n");
  check_budget("free in cgroup", 25 * MIB);
}
END_TEST

START_TEST(the_private_memory_of_old_kernels)
{
  put_full_group(_i);
  put("/proc/self/smaps_rollup", "");
  check_budget("free in cgroup", 20 * MIB);
  put("/proc/self/status", "VmRSS: 9000 kB\nRssAnon:\t    4096 kB\n");
  check_budget("free in cgroup", 24 * MIB);
}
END_TEST

/* If the process is alone in the group, all memory but the files in tmpfs is its own, even the
 * kernel's. */
START_TEST(alone_it_has_all_but_tmpfs)
{
  char procs[32];
  const char *folder = _i ? "/sys/fs/cgroup/a" : "/sys/fs/cgroup/memory/a";
  snprintf(procs, sizeof procs, "%d\n", (int)getpid());
  put_full_group(_i);
  put("/proc/self/smaps_rollup", "Anonymous: 1024 kB\n");
  put_procs(folder, procs);
  check_budget("free in cgroup", 61 * MIB);
  snprintf(procs, sizeof procs, "%d\n1\n", (int)getpid());
  put_procs(folder, procs);
  check_budget("free in cgroup", 21 * MIB);
  put_procs(folder, "1\n");
  check_budget("free in cgroup", 21 * MIB);
}
END_TEST

START_TEST(in_a_child_group_it_may_be_alone)
{
  char procs[32];
  snprintf(procs, sizeof procs, "%d\n", (int)getpid());
  put_full_group(true);
  put_groups("0::/a/b\n");
  put("/proc/self/smaps_rollup", "Anonymous: 0 kB\n");
  put_procs("/sys/fs/cgroup/a", "");
  put_procs("/sys/fs/cgroup/a/b", procs);
  check_budget("free in cgroup", 61 * MIB);
  put_procs("/sys/fs/cgroup/a/c", ""); /* another child group */
  check_budget("free in cgroup", 20 * MIB);
}
END_TEST

/* The process's group and its ancestors may all have limits. The one with the least free memory
 * counts. */
START_TEST(every_level_counts)
{
  put_full_group(true);
  put_groups("0::/a/b/c\n");
  put("/sys/fs/cgroup/a/b/memory.max", "33554432\n");
  put("/sys/fs/cgroup/a/b/memory.current", "6291456\n");
  check_budget("free in cgroup", 25 * MIB);
  put("/sys/fs/cgroup/a/b/c/memory.max", "29360128\n");
  put("/sys/fs/cgroup/a/b/c/memory.current", "18874368\n");
  check_budget("free in cgroup", 15 * MIB);
}
END_TEST

START_TEST(little_of_others_is_in_every_prediction)
{
  put_groups("0::/a\n");
  put_mounts(v2_mounts);
  put("/sys/fs/cgroup/a/memory.max", "33554432\n");
  put("/sys/fs/cgroup/a/memory.current", "524288\n");
  check_limit(32 * MIB);
  put("/sys/fs/cgroup/a/memory.current", "528384\n");
  check_budget("free in cgroup", 33554432 - 528384);
  put("/sys/fs/cgroup/a/memory.current", "34603008\n"); /* the limit was lowered */
  check_budget("free in cgroup", 0);
}
END_TEST

/* ---- processors ---- */

static const struct {
  const char *groups, *mounts, *files[4]; /* files: path, text, path, text */
  uint64_t thousandths;
} quotas[] = {
    {"0::/a/b\n", v2_mounts, {"/sys/fs/cgroup/a/b/cpu.max", "max 100000\n"}, UINT64_MAX},
    {"0::/a/b\n", v2_mounts, {"/sys/fs/cgroup/a/b/cpu.max", "250000 100000\n"}, 2500},
    {"0::/a/b\n",
     v2_mounts,
     {"/sys/fs/cgroup/a/b/cpu.max", "40000 20000\n", "/sys/fs/cgroup/a/cpu.max", "75000 50000\n"},
     1500},
    {"0::/a/b\n",
     v2_mounts,
     {"/sys/fs/cgroup/a/b/cpu.max", "10000 100000\n", "/sys/fs/cgroup/a/cpu.max", "max 50000\n"},
     100},
    {"6:cpu,cpuacct:/a\n4:memory:/\n", v1_mounts,
     {"/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n",
      "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n"}, UINT64_MAX},
    {"6:cpu,cpuacct:/a\n4:memory:/\n", v1_mounts,
     {"/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "70000\n",
      "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "20000\n"}, 3500},
    {"6:cpuset:/a\n4:memory:/\n", v1_mounts,
     {"/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "70000\n",
      "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "20000\n"}, UINT64_MAX},
    {"0::/a\n", v2_mounts, {"/sys/fs/cgroup/a/cpu.max", "50000\n"}, UINT64_MAX}, /* damaged */
};

START_TEST(the_least_quota_counts)
{
  put_groups(quotas[_i].groups);
  put_mounts(quotas[_i].mounts);
  for (int i = 0; i < 4 && quotas[_i].files[i]; i += 2)
    put(quotas[_i].files[i], quotas[_i].files[i + 1]);
  ck_assert_uint_eq(mafat_groups_quota(test_tree()), quotas[_i].thousandths);
  uint64_t whole = quotas[_i].thousandths / 1000, expected = whole < 1 ? 1 : whole < 3 ? whole : 3;
  ck_assert_int_eq(mafat_groups_processors(3, test_tree()), (int)expected);
}
END_TEST

/* ---- what should not be there ---- */

static const char *const damaged[] = {"",           "\n",       ":\n",         "::\n",
                                      "4:memory\n", "memory\n", "4:memory:\n", "0::\n"};

START_TEST(damaged_files_are_no_limits)
{
  put_groups(damaged[_i]);
  put_mounts("\n1\n1 2 3\n33 31 0:29 / /sys/fs/cgroup/memory rw\n33 31 0:29 / /x rw -\n33 31 0:29 "
             "/ /x rw - cgroup\n"
             "33 31 0:29 / /x rw - cgroup cgroup\n");
  check_no_limit();
}
END_TEST

START_TEST(long_lines_are_passed_over)
{
  static char text[20000];
  size_t n =
      (size_t)snprintf(text, sizeof text, "30 1 0:30 / /merged rw - overlay overlay rw,lowerdir=");
  memset(text + n, 'l', 9000);
  strcpy(text + n + 9000, "\n");
  strcat(text, v2_mounts);
  put_mounts(text);
  put_groups("0::/a\n");
  put("/sys/fs/cgroup/a/memory.max", "33554432");
  check_limit(32 * MIB);
}
END_TEST

/* Reads the budget of the real system. */
START_TEST(the_system_has_a_budget)
{
  struct mafat_budget b;
  mafat_budget_find(&b, "");
  ck_assert_uint_gt(b.bytes, 0);
  ck_assert_str_ne(b.source, "");
}
END_TEST

#define COUNT(list) (int)(sizeof(list) / sizeof(list)[0])

Suite *budget_suite(void)
{
  Suite *s = suite_create("budget");
  TCase *t = tcase_create("budget");
  suite_add_tcase(s, t);
  tcase_add_checked_fixture(t, test_tree_make, test_tree_remove);
  tcase_add_test(t, without_groups_an_eighth_is_left_to_others);
  tcase_add_loop_test(t, sixteen_megabytes_at_least_are_left_but_no_more_than_half, 0,
                      COUNT(margins));
  tcase_add_test(t, without_proc_the_system_call_gives_the_free_memory);
  tcase_add_test(t, without_proc_the_visible_groups_count);
  tcase_add_test(t, v2_takes_the_smallest_of_a_group_and_its_ancestors);
  tcase_add_test(t, v2_without_limits);
  tcase_add_test(t, v2_high_is_a_limit);
  tcase_add_test(t, v2_namespace_has_its_own_group_as_the_root);
  tcase_add_loop_test(t, v2_group_outside_of_the_namespace, 0, COUNT(outside));
  tcase_add_test(t, a_group_may_be_named_with_two_points);
  tcase_add_test(t, v2_group_that_was_removed);
  tcase_add_test(t, v2_elsewhere_with_a_space);
  tcase_add_test(t, v1_takes_the_smallest_of_a_group_and_its_ancestors);
  tcase_add_test(t, v1_unlimited_is_no_limit);
  tcase_add_test(t, v1_together_with_other_controllers);
  tcase_add_test(t, v1_ancestors_count_only_where_they_count_descendants);
  tcase_add_test(t, v1_container_mounts_its_own_group);
  tcase_add_test(t, v1_knows_limits_above_what_is_mounted);
  tcase_add_test(t, other_mounts_of_a_hierarchy_do_not_count);
  tcase_add_test(t, namespace_of_groups_under_an_older_mount);
  tcase_add_test(t, hybrid_takes_the_smaller_one);
  tcase_add_test(t, where_mounts_cannot_be_read_they_are_in_their_usual_places);
  tcase_add_test(t, a_limit_above_the_machine_is_none);
  tcase_add_loop_test(t, what_others_hold_is_not_free, 0, 2);
  tcase_add_loop_test(t, the_smaller_account_counts, 0, 2);
  tcase_add_loop_test(t, the_private_memory_of_old_kernels, 0, 2);
  tcase_add_loop_test(t, alone_it_has_all_but_tmpfs, 0, 2);
  tcase_add_test(t, in_a_child_group_it_may_be_alone);
  tcase_add_test(t, every_level_counts);
  tcase_add_test(t, little_of_others_is_in_every_prediction);
  tcase_add_loop_test(t, the_least_quota_counts, 0, COUNT(quotas));
  tcase_add_loop_test(t, damaged_files_are_no_limits, 0, COUNT(damaged));
  tcase_add_test(t, long_lines_are_passed_over);
  tcase_add_test(t, the_system_has_a_budget);
  return s;
}
