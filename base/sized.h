/* Structs of the public headers that begin with their size, a size_t that the caller sets. A caller
 * built for another version may know fewer or more fields than this one. In both functions `bytes`
 * is the size of the struct in this version. Included by api/ and runner/calibrate. Pure
 * functions. */
#ifndef MAFAT_BASE_SIZED_H
#define MAFAT_BASE_SIZED_H

#include "include/mafat.h"

/* Copies the fields of `facts` that both versions know, and zeroes those that only the caller
 * knows. out->size stays. MAFAT_EINVAL: the size was not set. */
int mafat_sized_give(void *out, const void *facts, size_t bytes);

/* Copies the options that both versions know into `options` and zeroes the rest; `given` may be
 * NULL. MAFAT_EINVAL: the size was not set, or an option that only the caller knows is not 0. */
int mafat_sized_take(void *options, size_t bytes, const void *given, struct mafat_diagnostic *d);

#endif
