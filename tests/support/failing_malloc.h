/* Fails chosen allocations and counts what is not freed. Works through the
 * linker: every object of the test program must be linked with
 *     -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=free,--wrap=mmap64
 * and the same of mafat_heap_calloc, mafat_heap_realloc and mafat_heap_free, whose blocks count
 * alike. Outside arm ... disarm the wrappers only pass on; armed, for one thread. */
#ifndef MAFAT_TESTS_SUPPORT_FAILING_MALLOC_H
#define MAFAT_TESTS_SUPPORT_FAILING_MALLOC_H

#include <stddef.h>

/* From now on allocation number `fail_at` (from 0) returns NULL; negative: none. */
void failing_malloc_arm(long fail_at);
/* Ends it. The number of allocations that were asked for meanwhile, and in
 * *unfreed how many of them were not freed. */
long failing_malloc_disarm(long *unfreed);
/* The most bytes of the C library's heap that were allocated at once since it was armed, with the
 * length that stands before each. */
size_t failing_malloc_most_bytes(void);

/* The same of mappings: number `fail_at` fails. Ending it: how many were asked for. */
void failing_mmap_arm(long fail_at);
long failing_mmap_disarm(void);

#endif
