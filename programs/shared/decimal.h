/* Numbers behind options, as people write them: 0.5, 2, 1e-3, -127.5. strtod takes more, which is a
 * slip of the finger here: 0x10, inf, nan, blanks before it. In a header, for programs that have
 * nothing else in common. */
#ifndef MAFAT_PROGRAM_DECIMAL_H
#define MAFAT_PROGRAM_DECIMAL_H

#include <ctype.h>
#include <stdbool.h>

/* Is it a decimal number that stands here, as far as can be told by its beginning? strtod says the
 * rest. */
static inline bool mafat_decimal_begins(const char *text)
{
  if (*text == '-' || *text == '+') text++;
  if (*text == '.') return isdigit((unsigned char)text[1]);
  return isdigit((unsigned char)*text) && !(text[0] == '0' && (text[1] == 'x' || text[1] == 'X'));
}

#endif
