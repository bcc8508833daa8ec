#include "base/sized.h"

#include <string.h>

void mafat_sized_give(void *to, size_t to_bytes, const void *facts, size_t bytes)
{
  size_t known = to_bytes < bytes ? to_bytes : bytes;
  memcpy(to, facts, known);
  memset((char *)to + known, 0, to_bytes - known);
}

int mafat_sized_take(void *options, size_t bytes, const void *given, size_t given_bytes, struct mafat_diagnostic *d)
{
  if (!given) return MAFAT_OK;
  for (size_t i = bytes; i < given_bytes; i++)
    if (((const unsigned char *)given)[i])
      return mafat_fail(d, MAFAT_EINVAL, "expected options that mafat %s knows, found one of a later version (byte %zu of %zu)",
                        mafat_version(), i, given_bytes);
  memcpy(options, given, given_bytes < bytes ? given_bytes : bytes);
  return MAFAT_OK;
}

int mafat_sized_take_model_options(struct mafat_model_options *options, const struct mafat_model_options *given,
                                   size_t given_bytes, struct mafat_diagnostic *d)
{
  mafat_model_defaults(options);
  return mafat_sized_take(options, sizeof *options, given, given_bytes, d);
}
