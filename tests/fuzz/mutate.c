/* Steps that the mutators share: replace a range of bytes, copy a range, draw an extreme number,
 * call libFuzzer's own mutation. Called by mutate_text.c, mutate_wire.c, mutate_flat.c and fuzz
 * targets. */
#include "tests/fuzz/mutate.h"

#include <stdlib.h>
#include <string.h>
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#endif
#endif

bool mutation_splice(struct mutation *m, size_t at, size_t gone, const void *bytes, size_t n)
{
  if (at > m->n || gone > m->n - at || m->n - gone + n > m->most) return false;
  memmove(m->data + at + n, m->data + at + gone, m->n - at - gone);
  if (n) memcpy(m->data + at, bytes, n);
  m->n = m->n - gone + n;
  return true;
}

bool mutation_copy(struct mutation *m, size_t to, size_t gone, size_t from, size_t n)
{
  uint8_t *bytes = malloc(n ? n : 1);
  if (!bytes) return false;
  memcpy(bytes, m->data + from, n);
  bool fits = mutation_splice(m, to, gone, bytes, n);
  free(bytes);
  return fits;
}

size_t mutation_scramble(uint8_t *bytes, size_t n, size_t most)
{
  n = LLVMFuzzerMutate(bytes, n, most);
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
  __msan_unpoison(&n, sizeof n); /* MemorySanitizer does not see libFuzzer's writes */
  __msan_unpoison(bytes, n);
#endif
#endif
  return n;
}

long long mutation_number(struct mutation *m)
{
  static const long long numbers[] = {
      0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 1000, 4095,
      4096, 4097, 32767, 32768, 65535, 65536, 1 << 20, INT32_MAX - 1, INT32_MAX, 1LL << 31,
      UINT32_MAX, 1LL << 32, (1LL << 32) + 1, 1LL << 40, 1LL << 62, INT64_MAX, -1, -2, -3, -4, -16,
      -128, -32768, INT32_MIN, INT64_MIN + 1, INT64_MIN};
  enum { N = sizeof numbers / sizeof *numbers, SMALL = 12 };
  return numbers[mutation_random(m, mutation_random(m, 2) ? N : SMALL)];
}
