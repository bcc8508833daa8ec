/* Covers runner/os/{budget, groups, lines}.c: budgets from control groups and available memory,
 * in trees of files like those of real systems: v1, v2, both, containers, names that lead out of
 * a namespace. */
#include "runner/os/budget.h"
#include "tests/support/tree.h"

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

START_TEST(nothing_is_known_without_proc)
{
  put("/proc/meminfo", "");
  check_budget("unknown", SIZE_MAX);
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
  put("/sys/fs/cgroup/user.slice/memory.high", "1048576\n"); /* slows down, no limit */
  put("/sys/fs/cgroup/user.slice/memory.swap.max", "0\n");
  check_no_limit();
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

/* The process was put into the container from outside. Names that lead out are not
 * walked: /sys/fs/cgroup/../other is no group. */
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
  put("/sys/fs/cgroup/memory/c/memory.limit_in_bytes", "1048576\n"); /* another hierarchy's name */
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

/* Docker without a namespace of groups: the process knows its host's names, and sees
 * its own group only, where the hierarchy is expected. */
START_TEST(v1_container_mounts_its_own_group)
{
  put_groups("4:memory:/docker/0123\n");
  put_mounts("33 31 0:29 /docker/0123 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "33554432\n");
  check_limit(32 * MIB);
  put_groups("4:memory:/docker/0123/inner\n");
  put("/sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "16777216\n");
  check_limit(16 * MIB);
  put_groups("4:memory:/docker/01234\n"); /* not below it, but what there is */
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

/* The host's groups are visible in a container that watches them. */
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
  put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "33554432\n"); /* of an ancestor */
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
  put("/sys/fs/cgroup/a/memory.max", "4294967296\n"); /* exactly its memory */
  check_no_limit();
  put("/sys/fs/cgroup/a/memory.max", "4294963200\n");
  check_limit(4095 * MIB + 1020 * 1024);
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

/* This process's own. */
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
  tcase_add_test(t, nothing_is_known_without_proc);
  tcase_add_test(t, v2_takes_the_smallest_of_a_group_and_its_ancestors);
  tcase_add_test(t, v2_without_limits);
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
  tcase_add_loop_test(t, damaged_files_are_no_limits, 0, COUNT(damaged));
  tcase_add_test(t, long_lines_are_passed_over);
  tcase_add_test(t, the_system_has_a_budget);
  return s;
}
