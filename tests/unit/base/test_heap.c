/* Covers base/heap.c: blocks of a heap are zeroed and aligned, do not overlap, are reused when
 * freed, and are counted; failures are reported. */
#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/heap.h"
#include "tests/support/failing_malloc.h"
#include "tests/support/support.h"

Suite *heap_suite(void);

enum { BLOCKS = 200, STEPS = 20000 };

/* A block whose bytes all hold `mark`. */
struct held {
  unsigned char *at;
  size_t bytes;
  unsigned char mark;
};

static void check_mark(const struct held *h)
{
  size_t i = 0;
  while (i < h->bytes && h->at[i] == h->mark) i++;
  ck_assert_msg(i == h->bytes, "byte %zu of %zu: expected %d, found %d", i, h->bytes, h->mark,
                h->at[i]);
}

static void mark(struct held *h, size_t bytes, unsigned char number)
{
  ck_assert(h->at != NULL && (uintptr_t)h->at % 16 == 0);
  h->bytes = bytes;
  h->mark = number;
  memset(h->at, h->mark, bytes);
}

/* Mostly few bytes; sometimes more than a chunk of the heap has. */
static size_t random_bytes(struct test_rng *rng)
{
  static const int most[] = {16, 100, 1000, 5000, 70000, 400000};
  return (size_t)test_random_int(
      rng, 0,
      most[test_random_int(rng, 0, 40) ? test_random_int(rng, 0, 3) : test_random_int(rng, 4, 5)]);
}

/* Resizes, frees or replaces a block, at random, after checking that it was not changed. */
static void step(struct mafat_heap *heap, struct test_rng *rng, struct held *h,
                 unsigned char number)
{
  size_t bytes = random_bytes(rng);
  int what = test_random_int(rng, 0, 2);
  check_mark(h);
  if (what == 0 && h->at) { /* realloc: bytes that fit into both sizes stay */
    struct held rest = {mafat_heap_realloc(heap, h->at, bytes + 1),
                        bytes < h->bytes ? bytes : h->bytes, h->mark};
    check_mark(&rest);
    h->at = rest.at;
    mark(h, bytes, number);
    return;
  }
  mafat_heap_free(heap, h->at);
  *h = (struct held){NULL, 0, 0};
  if (what == 1) return;
  struct held zero = {mafat_heap_calloc(heap, 1, bytes), bytes, 0};
  check_mark(&zero);
  h->at = zero.at;
  mark(h, bytes, number);
}

/* Blocks are zeroed, and writing to one never changes another. */
START_TEST(blocks_are_zeroed_and_do_not_overlap)
{
  struct test_rng rng = test_rng((uint64_t)_i);
  struct held held[BLOCKS] = {{NULL, 0, 0}};
  struct mafat_heap *heap;
  ck_assert_int_eq(mafat_heap_open(&heap), MAFAT_OK);
  for (int i = 0; i < STEPS; i++)
    step(heap, &rng, &held[test_random_int(&rng, 0, BLOCKS - 1)], (unsigned char)i);
  for (int i = 0; i < BLOCKS; i++) {
    check_mark(&held[i]);
    mafat_heap_free(heap, held[i].at);
  }
  mafat_heap_close(&heap);
  ck_assert(heap == NULL);
  mafat_heap_close(&heap);
}
END_TEST

/* Allocating and freeing repeatedly takes no more memory than once. */
START_TEST(freed_blocks_are_reused)
{
  struct mafat_heap *heap;
  ck_assert_int_eq(mafat_heap_open(&heap), MAFAT_OK);
  size_t before = 0;
  for (int i = 0; i < 1000; i++) {
    void *small = mafat_heap_calloc(heap, 30, 10), *large = mafat_heap_calloc(heap, 1000, 1000);
    ck_assert(small && large);
    mafat_heap_free(heap, small);
    mafat_heap_free(heap, large);
    if (i == 0) before = mafat_heap_bytes(heap);
  }
  ck_assert_uint_eq(mafat_heap_bytes(heap), before);
  ck_assert_uint_le(before, 16384);
  mafat_heap_close(&heap);
}
END_TEST

/* mafat_heap_most_bytes returns the heap's peak, which a prediction includes. */
START_TEST(peak_is_remembered)
{
  struct mafat_heap *heap;
  ck_assert_int_eq(mafat_heap_open(&heap), MAFAT_OK);
  if (heap) {
    void *first = mafat_heap_calloc(heap, 1, 1 << 20),
         *second = mafat_heap_calloc(heap, 1, 2 << 20);
    size_t most = mafat_heap_bytes(heap);
    ck_assert_uint_ge(most, 3 << 20);
    mafat_heap_free(heap, first);
    ck_assert_uint_lt(mafat_heap_bytes(heap), 3 << 20);
    mafat_heap_free(heap, second);
    ck_assert_uint_eq(mafat_heap_most_bytes(heap), most);
    ck_assert(mafat_heap_calloc(heap, 1, 4 << 20) != NULL);
    ck_assert_uint_gt(mafat_heap_most_bytes(heap), most);
  }
  mafat_heap_close(&heap);
  ck_assert_uint_eq(mafat_heap_most_bytes(NULL), 0);
}
END_TEST

/* Requests that overflow, and requests after the system has no more memory, return NULL. */
START_TEST(impossible_requests_are_refused)
{
  struct mafat_heap *heap;
  failing_mmap_arm(0);
  int code = mafat_heap_open(&heap);
  if (!failing_mmap_disarm()) return; /* built with AddressSanitizer: heaps do not call mmap */
  ck_assert(code == MAFAT_ENOMEM && heap == NULL);
  ck_assert_int_eq(mafat_heap_open(&heap), MAFAT_OK);
  ck_assert(mafat_heap_calloc(heap, SIZE_MAX / 2, 3) == NULL);
  ck_assert(mafat_heap_calloc(heap, 1, SIZE_MAX - 8) == NULL);
  void *block = mafat_heap_calloc(heap, 1, 40);
  ck_assert(block && mafat_heap_realloc(heap, block, SIZE_MAX - 8) == NULL);
  mafat_heap_free(heap, block);
  for (int i = 0; i < 100; i++) { /* until the chunk is used up and a new one is refused */
    failing_mmap_arm(0);
    block = mafat_heap_calloc(heap, 1, 60000);
    if (failing_mmap_disarm()) break;
    ck_assert(block != NULL);
  }
  ck_assert(block == NULL);
  mafat_heap_close(&heap);
}
END_TEST

/* Chunks and large blocks are counted, and refused beyond the limit. */
START_TEST(a_limit_holds)
{
  struct mafat_heap *heap;
  struct mafat_allowance a = {.limit_bytes = 3 << 20};
  ck_assert_int_eq(mafat_heap_open(&heap), MAFAT_OK);
  mafat_heap_limit(heap, &a);
  void *large = mafat_heap_calloc(heap, 1, 2 << 20), *block = large;
  if (!heap) return; /* built with AddressSanitizer, `heap` is NULL */
  ck_assert(large && !mafat_heap_calloc(heap, 1, 1 << 20) && a.refused_bytes > a.limit_bytes);
  while (block) block = mafat_heap_calloc(heap, 1, 1000);
  ck_assert_uint_le(mafat_heap_bytes(heap), a.limit_bytes);
  mafat_heap_free(heap, large);
  ck_assert((large = mafat_heap_calloc(heap, 1, 2 << 20)) != NULL);
  size_t n = a.bytes;
  ck_assert(!mafat_heap_realloc(heap, large, 4 << 20) && a.bytes == n);
  mafat_heap_close(&heap);
  ck_assert_uint_eq(a.bytes, 0);
}
END_TEST

/* A large block grows without a second copy; blocks before and after it in the list stay valid. */
START_TEST(large_blocks_grow)
{
  struct mafat_heap *heap;
  char *blocks[3];
  enum { FIRST = 100000, STEPS_OF = 7 };
  ck_assert_int_eq(mafat_heap_open(&heap), MAFAT_OK);
  for (int i = 0; i < 3; i++) memset(blocks[i] = mafat_heap_calloc(heap, 1, FIRST), i + 1, FIRST);
  for (int step = 1; step <= STEPS_OF; step++)
    for (int i = 0; i < 3; i++) {
      size_t n = (size_t)FIRST << step;
      blocks[i] = mafat_heap_realloc(heap, blocks[i], n);
      ck_assert_ptr_nonnull(blocks[i]);
      ck_assert(blocks[i][0] == i + 1 && blocks[i][n / 2 - 1] == i + 1);
      memset(blocks[i] + n / 2, i + 1, n / 2);
    }
  size_t all = 3 * ((size_t)FIRST << STEPS_OF);
  if (heap) ck_assert_uint_le(mafat_heap_most_bytes(heap), all + 5 * 4096);
  mafat_heap_free(heap, blocks[1]);
  mafat_heap_free(heap, blocks[2]);
  ck_assert(blocks[0][all / 3 - 1] == 1);
  mafat_heap_free(heap, blocks[0]);
  if (heap) ck_assert_uint_le(mafat_heap_bytes(heap), 4096);
  mafat_heap_close(&heap);
}
END_TEST

/* With NULL as heap, the C library's heap is used. */
START_TEST(null_is_the_usual_heap)
{
  char *block = mafat_heap_calloc(NULL, 10, 10);
  ck_assert(block && block[99] == 0);
  block = mafat_heap_realloc(NULL, block, 1000);
  ck_assert(block != NULL && mafat_heap_bytes(NULL) == 0);
  mafat_heap_free(NULL, block);
  mafat_heap_free(NULL, NULL);
  mafat_heap_close(NULL);
}
END_TEST

Suite *heap_suite(void)
{
  Suite *suite = suite_create("heap");
  TCase *blocks = tcase_create("blocks");
  tcase_set_timeout(blocks, 60);
  tcase_add_loop_test(blocks, blocks_are_zeroed_and_do_not_overlap, 0, test_seeds(10));
  tcase_add_test(blocks, freed_blocks_are_reused);
  tcase_add_test(blocks, peak_is_remembered);
  tcase_add_test(blocks, impossible_requests_are_refused);
  tcase_add_test(blocks, a_limit_holds);
  tcase_add_test(blocks, large_blocks_grow);
  tcase_add_test(blocks, null_is_the_usual_heap);
  suite_add_tcase(suite, blocks);
  return suite;
}
