/* Structs of the public header whose length the caller tells: his version may know less of them
 * than this one, or more. */
#ifndef MAFAT_BASE_SIZED_H
#define MAFAT_BASE_SIZED_H

#include "include/mafat.h"

/* Copies what both know of facts; what only the caller knows becomes 0. */
void mafat_sized_give(void *to, size_t to_bytes, const void *facts, size_t bytes);

/* Copies over the defaults in `options` what both know of `given`, which may be NULL.
 * MAFAT_EINVAL: of what only the caller knows something is not 0. */
int mafat_sized_take(void *options, size_t bytes, const void *given, size_t given_bytes, struct mafat_diagnostic *d);

/* The same of a model's options; the defaults are filled in, too. */
int mafat_sized_take_model_options(struct mafat_model_options *options, const struct mafat_model_options *given,
                                   size_t given_bytes, struct mafat_diagnostic *d);

#endif
