/* Measures the memory that a fuzz target allocates between bounded_begin and bounded_end, and
 * aborts if it is more than the limit for a file of this size (tests/support/reading.h). Counts
 * through the sanitizer's hooks on malloc and free; without a sanitizer nothing is checked.
 * Included by fuzz targets. */
#ifndef MAFAT_TESTS_FUZZ_BOUNDED_H
#define MAFAT_TESTS_FUZZ_BOUNDED_H

#include "tests/support/reading.h"

#include <stdbool.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#include <sanitizer/allocator_interface.h>

static size_t bounded_now, bounded_most;
static bool bounded_counts;

static void bounded_note_malloc(const volatile void *block, size_t bytes)
{
  (void)block;
  if (!bounded_counts) return;
  bounded_now += bytes;
  if (bounded_now > bounded_most) bounded_most = bounded_now;
}

/* The sanitizer also reports frees of memory that was allocated before bounded_begin, hence the
 * clamp at 0. */
static void bounded_note_free(const volatile void *block)
{
  if (!bounded_counts || !block) return;
  size_t bytes = __sanitizer_get_allocated_size(block);
  bounded_now -= bytes < bounded_now ? bytes : bounded_now;
}

static inline void bounded_begin(void)
{
  static bool installed;
  if (!installed &&
      !__sanitizer_install_malloc_and_free_hooks(bounded_note_malloc, bounded_note_free))
    abort();
  installed = true;
  bounded_now = bounded_most = 0;
  bounded_counts = true;
}

static inline void bounded_end(enum test_reader reader, size_t file_bytes)
{
  bounded_counts = false;
  if (bounded_most > test_reading_bytes(reader, file_bytes)) abort();
}

#define MAFAT_FUZZ_BOUNDED
#endif
#endif

#ifndef MAFAT_FUZZ_BOUNDED
static inline void bounded_begin(void)
{
}

static inline void bounded_end(enum test_reader reader, size_t file_bytes)
{
  (void)reader, (void)file_bytes;
}
#endif

#endif
