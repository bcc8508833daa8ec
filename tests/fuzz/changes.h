/* Applies changes chosen by a fuzzer to the bytes of a valid model. Included by fuzz_import.c
 * and fuzz_onnx.c. */
#ifndef MAFAT_TESTS_FUZZ_CHANGES_H
#define MAFAT_TESTS_FUZZ_CHANGES_H

#include "tests/support/onnx_writer.h"

#include <string.h>

/* Changes one byte of the message as the bytes of `how` say: position (2 bytes), value, and
 * action: replace, remove or insert the byte. */
static inline void change_byte(struct test_message *m, const uint8_t *how)
{
  size_t at = (how[0] + 256 * (size_t)how[1]) % m->n;
  if (how[3] % 3 == 0 || m->n == 1) m->data[at] = (char)how[2];
  else if (how[3] % 3 == 1) memmove(m->data + at, m->data + at + 1, --m->n - at);
  else {
    test_put_bytes(m, "", 1);
    memmove(m->data + at + 1, m->data + at, m->n - 1 - at);
    m->data[at] = (char)how[2];
  }
}

static inline void change_message(struct test_message *m, const uint8_t *how, size_t n)
{
  for (size_t i = 0; i + 4 <= n; i += 4) change_byte(m, how + i);
}

#endif
