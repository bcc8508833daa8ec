/* Fails chosen allocations and counts what is not freed. Works through the
 * linker: every object of the test program must be linked with
 *     -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=free
 * Outside failing_malloc_arm ... failing_malloc_disarm the wrappers only pass on. */
#ifndef MAFAT_TESTS_FAILING_MALLOC_H
#define MAFAT_TESTS_FAILING_MALLOC_H

/* From now on allocation number `fail_at` (from 0) returns NULL; negative: none. */
void failing_malloc_arm(long fail_at);
/* Ends it. The number of allocations that were asked for meanwhile, and in
 * *unfreed how many of them were not freed. */
long failing_malloc_disarm(long *unfreed);

#endif
