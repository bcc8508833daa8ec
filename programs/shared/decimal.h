/* Parses numbers of options as people write them: 0.5, 2, 1e-3, -127.5. strtod also takes 0x10,
 * inf, nan and leading blanks, which are typing errors here. It is a header, because some of its
 * users share nothing else. Pure. Included by programs/mafat_serve/route.c, programs/shared and
 * programs/swap_cost/swap_cost.c. */
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
