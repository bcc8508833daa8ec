/* Covers runner/os/{headroom, own}.c: how many bytes of cached pages are reclaimed from a
 * memory cgroup before a run, computed from the cgroup's files; and which part of the heap is
 * locked. */
#include "runner/os/headroom.h"
#include "runner/os/own.h"
#include "tests/support/support.h"
#include "tests/support/tree.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

Suite *headroom_suite(void);

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

/* A group with a limit of 8 MiB that uses 7 MiB, 2 of them for cached pages. 512 KiB of these are
 * mapped, so 1536 KiB can be dropped. At most 7/8 of them, 1344 KiB, are reclaimed. */
static const struct {
  const char *groups, *mounts, *folder, *limit, *usage, *stat;
} groups[] = {{"0::/a\n",
               "31 24 0:27 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
               "/sys/fs/cgroup/a/", "memory.max", "memory.current",
               "anon 4194304\nfile 2097152\nfile_mapped 524288\ninactive_file 1048576\nactive_file "
               "1048576\n"},
              {"4:memory:/a\n", "33 31 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
               "/sys/fs/cgroup/memory/a/", "memory.limit_in_bytes", "memory.usage_in_bytes",
               "mapped_file 0\ninactive_file 4096\nactive_file 4096\ntotal_mapped_file "
               "524288\ntotal_inactive_file 2093056\ntotal_active_file 4096\n"}};

enum { N_GROUPS = sizeof groups / sizeof *groups };

static void put(int i, const char *file, const char *text)
{
  char path[256];
  snprintf(path, sizeof path, "%s%s", groups[i].folder, file);
  test_tree_put(path, text);
}

static void put_group(int i)
{
  test_tree_put("/proc/self/cgroup", groups[i].groups);
  test_tree_put("/proc/self/mountinfo", groups[i].mounts);
  put(i, groups[i].limit, "8388608\n");
  put(i, groups[i].usage, "7340032\n");
  put(i, "memory.stat", groups[i].stat);
}

START_TEST(test_what_fits_needs_nothing)
{
  put_group(_i);
  ck_assert_uint_eq(mafat_headroom_make(0, 0, test_tree()), 0);
  ck_assert_uint_eq(mafat_headroom_make(MIB, 0, test_tree()), 0);
}
END_TEST

START_TEST(test_cached_pages_go_where_they_stand_in_the_way)
{
  put_group(_i);
  ck_assert_uint_eq(mafat_headroom_make(MIB + 4096, 0, test_tree()), 4096);
  ck_assert_uint_eq(mafat_headroom_make(2 * MIB, 0, test_tree()), MIB);
}
END_TEST

START_TEST(test_no_more_is_touched_than_can_be_dropped)
{
  put_group(_i);
  ck_assert_uint_eq(mafat_headroom_make(1 << 30, 0, test_tree()), 1344 * KIB);
  put(_i, "memory.stat", "anon 7340032\n");
  ck_assert_uint_eq(mafat_headroom_make(1 << 30, 0, test_tree()), 0);
}
END_TEST

START_TEST(test_groups_that_do_not_say)
{
  put_group(_i);
  put(_i, groups[_i].usage, "9437184\n"); /* usage is above the limit, which was lowered */
  ck_assert_uint_eq(mafat_headroom_make(2 * MIB, 0, test_tree()), 0);
  put(_i, groups[_i].usage, "");
  ck_assert_uint_eq(mafat_headroom_make(2 * MIB, 0, test_tree()), 0);
  put_group(_i);
  put(_i, "memory.stat", "");
  ck_assert_uint_eq(mafat_headroom_make(2 * MIB, 0, test_tree()), 0);
  put(_i, groups[_i].limit, "max\n");
  ck_assert_uint_eq(mafat_headroom_make(2 * MIB, 0, test_tree()), 0);
}
END_TEST

/* If the predicted charge is above the group's limit, memory is reclaimed up to the limit only. */
START_TEST(test_no_more_than_the_limit_is_touched)
{
  put_group(_i);
  ck_assert_uint_eq(mafat_headroom_make(16 * MIB, 6 * MIB, test_tree()), MIB);
  ck_assert_uint_eq(mafat_headroom_make(16 * MIB, 8 * MIB, test_tree()), 0);
}
END_TEST

START_TEST(test_without_groups)
{
  ck_assert_uint_eq(mafat_headroom_make(MIB, 0, test_tree()), 0);
}
END_TEST

static int open_files(void)
{
  int n = 0;
  DIR *folder = opendir("/proc/self/fd");
  ck_assert_ptr_nonnull(folder);
  while (readdir(folder)) n++;
  closedir(folder);
  return n;
}

/* Reclaiming leaves no file open, and does not change the process's memory. */
START_TEST(test_nothing_is_left_behind)
{
  size_t bytes = 3 * MIB;
  unsigned char *memory =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert_ptr_ne(memory, MAP_FAILED);
  memset(memory, 7, MIB); /* the other 2 MiB have no pages */
  put_group(0);
  int before = open_files();
  ck_assert_uint_eq(mafat_headroom_make(2 * MIB, 0, test_tree()), MIB);
  ck_assert_int_eq(open_files(), before);
  unsigned char there[768];
  ck_assert_int_eq(mincore(memory, bytes, there), 0);
  for (int i = 0; i < 768; i++) ck_assert_int_eq(there[i] & 1, i < 256);
  for (size_t i = 0; i < bytes; i++) ck_assert_int_eq(memory[i], i < MIB ? 7 : 0);
  munmap(memory, bytes);
}
END_TEST

/* Returns the bytes of [begin, end) in locked mappings, from /proc/self/smaps. */
static size_t locked_bytes(uintptr_t begin, uintptr_t end)
{
  char line[512];
  unsigned long from = 0, to = 0;
  size_t sum = 0;
  FILE *f = fopen("/proc/self/smaps", "r");
  ck_assert_ptr_nonnull(f);
  while (fgets(line, sizeof line, f)) {
    unsigned long a, b;
    if (sscanf(line, "%lx-%lx ", &a, &b) == 2) from = a, to = b;
    if (strncmp(line, "VmFlags:", 8) != 0 || !strstr(line, " lo")) continue;
    uintptr_t low = from > begin ? from : begin, high = to < end ? to : end;
    if (low < high) sum += high - low;
  }
  fclose(f);
  return sum;
}

/* Shortens the heap, as free() may do, and makes it grow again. All of it must then be locked. */
START_TEST(test_a_heap_that_shrank_and_grew_is_locked_whole)
{
  enum { FIRST = 5, LEFT = 2, PAGES_OF_HEAP = 9 };
  static const int last[] = {FIRST, PAGES_OF_HEAP}; /* pages after growing */
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *begin = sbrk(0);
  begin = (char *)(((uintptr_t)begin + page - 1) / page * page);
  ck_assert_int_eq(brk(begin + FIRST * page), 0);
  struct mafat_own_range heap = {(uintptr_t)begin, (uintptr_t)begin};
  mafat_own_lock_more(&heap);
  bool may = locked_bytes((uintptr_t)begin, heap.end) == FIRST * page;
  ck_assert_int_eq(brk(begin + LEFT * page), 0);
  ck_assert_int_eq(brk(begin + (size_t)last[_i] * page), 0);
  mafat_own_lock_more(&heap);
  size_t locked = locked_bytes((uintptr_t)begin, (uintptr_t)begin + (size_t)last[_i] * page);
  ck_assert_int_eq(brk(begin), 0);
  ck_assert_uint_eq(heap.end, (uintptr_t)begin + (size_t)last[_i] * page);
  if (may) ck_assert_uint_eq(locked, (size_t)last[_i] * page); /* else RLIMIT_MEMLOCK forbids it */
}
END_TEST

Suite *headroom_suite(void)
{
  Suite *s = suite_create("headroom");
  TCase *t = tcase_create("headroom");
  tcase_add_checked_fixture(t, test_tree_make, test_tree_remove);
  tcase_add_loop_test(t, test_what_fits_needs_nothing, 0, N_GROUPS);
  tcase_add_loop_test(t, test_cached_pages_go_where_they_stand_in_the_way, 0, N_GROUPS);
  tcase_add_loop_test(t, test_no_more_is_touched_than_can_be_dropped, 0, N_GROUPS);
  tcase_add_loop_test(t, test_groups_that_do_not_say, 0, N_GROUPS);
  tcase_add_loop_test(t, test_no_more_than_the_limit_is_touched, 0, N_GROUPS);
  tcase_add_test(t, test_without_groups);
  tcase_add_test(t, test_nothing_is_left_behind);
  tcase_add_loop_test(t, test_a_heap_that_shrank_and_grew_is_locked_whole, 0, 2);
  suite_add_tcase(s, t);
  return s;
}
