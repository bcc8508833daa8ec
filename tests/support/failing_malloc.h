/* Fails chosen allocations and counts blocks that are not freed. Included by suites that test
 * memory failures. Link every object of the test program with
 *     -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=free,--wrap=mmap64
 * and the same for mafat_heap_calloc, mafat_heap_realloc and mafat_heap_free, whose blocks are
 * counted, too. Between arm and disarm only one thread may allocate; otherwise the wrappers do
 * nothing. */
#ifndef MAFAT_TESTS_SUPPORT_FAILING_MALLOC_H
#define MAFAT_TESTS_SUPPORT_FAILING_MALLOC_H

#include <stddef.h>

/* From now on allocation number `fail_at` (from 0) returns NULL; negative: none fails. */
void failing_malloc_arm(long fail_at);
/* Ends it. Returns the number of allocations since arming; *unfreed: how many were not freed. */
long failing_malloc_disarm(long *unfreed);
/* Largest number of bytes allocated at a time from the C library since arming, including the
 * size field before each block. */
size_t failing_malloc_most_bytes(void);

/* The same for mappings: number `fail_at` fails. disarm returns their number. */
void failing_mmap_arm(long fail_at);
long failing_mmap_disarm(void);

#endif
