/* Copies structs whose caller may be built for another version of the library. Called by api/ and
 * runner/calibrate/calibrate.c for structs of the public headers that begin with their size.
 * Touches only its arguments. */
#include "base/sized.h"

#include <string.h>

/* Returns the size that the caller set; 0 if it is unset or implausible. */
static size_t size_of(const void *sized)
{
  const size_t size = *(const size_t *)sized, most = 64 << 10;
  return size < sizeof size || size > most ? 0 : size;
}

int mafat_sized_give(void *out, const void *facts, size_t bytes)
{
  size_t size = size_of(out), known = size < bytes ? size : bytes;
  if (!size) return MAFAT_EINVAL;
  memcpy((char *)out + sizeof size, (const char *)facts + sizeof size, known - sizeof size);
  memset((char *)out + known, 0, size - known);
  return MAFAT_OK;
}

int mafat_sized_take(void *options, size_t bytes, const void *given, struct mafat_diagnostic *d)
{
  memset(options, 0, bytes);
  if (!given) return MAFAT_OK;
  size_t size = size_of(given);
  if (!size)
    return mafat_fail(d, MAFAT_EINVAL,
                      "options: expected .size = sizeof of their struct, found %zu",
                      *(const size_t *)given);
  for (size_t i = bytes; i < size; i++)
    if (((const unsigned char *)given)[i])
      return mafat_fail(
          d, MAFAT_EINVAL,
          "expected options that mafat %s knows, found one of a later version (byte %zu of %zu)",
          mafat_version(), i, size);
  memcpy(options, given, size < bytes ? size : bytes);
  return MAFAT_OK;
}
