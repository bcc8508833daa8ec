/* Structs of the public headers that begin with their size, a size_t, which the caller sets: its version may know fewer
 * fields than this one, or more. */
#ifndef MAFAT_BASE_SIZED_H
#define MAFAT_BASE_SIZED_H

#include "include/mafat.h"

/* Copies the fields of facts that both know, and zeroes those that only the caller knows; out->size stays. MAFAT_EINVAL: it was
 * not set. */
int mafat_sized_give(void *out, const void *facts, size_t bytes);

/* Copies the options that both know to `options`, whose other fields become 0; given may be NULL. MAFAT_EINVAL: its size was not
 * set, or an option that only the caller knows is not 0. */
int mafat_sized_take(void *options, size_t bytes, const void *given, struct mafat_diagnostic *d);

#endif
