/* Fails chosen allocations and counts blocks that are not freed. Included by suites that test
 * memory failures and limits. Every object of the test program must be linked with
 * -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=free,--wrap=mmap64 and with
 * --wrap for mafat_heap_calloc, mafat_heap_realloc and mafat_heap_free. Between arm and disarm
 * only one thread may allocate. At other times the wrappers only call the wrapped functions. */
#ifndef MAFAT_TESTS_SUPPORT_FAILING_MALLOC_H
#define MAFAT_TESTS_SUPPORT_FAILING_MALLOC_H

#include <stddef.h>

/* Starts counting. Allocation number `fail_at`, counted from 0, returns NULL; negative: none
 * fails. */
void failing_malloc_arm(long fail_at);
/* Stops counting. Returns the number of allocations since arming. *unfreed: blocks allocated
 * minus blocks freed since then. */
long failing_malloc_disarm(long *unfreed);
/* The peak, since arming, of the bytes allocated from the C library, including the size field
 * before each block. */
size_t failing_malloc_most_bytes(void);

/* failing_mmap_arm lets mapping number `fail_at`, counted from 0, fail. failing_mmap_disarm ends
 * this and returns the number of mappings since arming. */
void failing_mmap_arm(long fail_at);
long failing_mmap_disarm(void);

#endif
