/* UTF-8 characters (RFC 3629) of untrusted text. Inline, because programs use it without the
 * library. Included by base/, programs/memory_limit, programs/pack_weights, programs/run_inference,
 * programs/shared and programs/swap_cost. Pure inline functions. */
#ifndef MAFAT_BASE_UTF8_H
#define MAFAT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the length of the character at the start of the text; a NUL has length 1. Returns 0 if
 * there is no valid character: overlong forms, surrogates and values above U+10FFFF are invalid.
 * Never reads past a NUL. */
static inline size_t mafat_utf8_character(const char *text)
{
  const unsigned char *u = (const unsigned char *)text;
  if (u[0] < 0x80) return 1;
  if (u[0] < 0xc2 || u[0] > 0xf4) return 0;
  size_t length = u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : 4;
  unsigned char least = u[0] == 0xe0 ? 0xa0 : u[0] == 0xf0 ? 0x90 : 0x80;
  unsigned char most = u[0] == 0xed ? 0x9f : u[0] == 0xf4 ? 0x8f : 0xbf;
  if (u[1] < least || u[1] > most) return 0;
  for (size_t i = 2; i < length; i++)
    if ((u[i] & 0xc0) != 0x80) return 0; /* a NUL also returns here */
  return length;
}

/* True if the character at `text`, which has `bytes` bytes, is a control character: ASCII's, and
 * U+0080 to U+009F, which some terminals obey like ESC. */
static inline bool mafat_utf8_is_control(const char *text, size_t bytes)
{
  unsigned char first = (unsigned char)text[0];
  if (bytes == 1) return first < 0x20 || first == 0x7f;
  return bytes == 2 && first == 0xc2 && (unsigned char)text[1] < 0xa0;
}

/* Replaces each byte of control characters and of invalid characters by '?', so that the text stays
 * on one line and cannot control a terminal. */
static inline void mafat_utf8_keep_to_one_line(char *text)
{
  for (size_t n; *text; text += n ? n : 1) {
    n = mafat_utf8_character(text);
    if (n > 0 && !mafat_utf8_is_control(text, n)) continue;
    for (size_t i = 0; i == 0 || i < n; i++) text[i] = '?';
  }
}

#endif
