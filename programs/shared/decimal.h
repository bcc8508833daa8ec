/* Checks that a text begins like a decimal number (0.5, 2, 1e-3, -127.5) before strtod parses it.
 * strtod also accepts 0x10, inf, nan and leading blanks, which are typing errors in options.
 * Touches only its argument. Included by programs/mafat_serve/route.c, programs/shared and
 * programs/swap_cost/swap_cost.c. */
#ifndef MAFAT_PROGRAM_DECIMAL_H
#define MAFAT_PROGRAM_DECIMAL_H

#include <ctype.h>
#include <stdbool.h>

/* True if the text begins like a decimal number. strtod checks the rest. */
static inline bool mafat_decimal_begins(const char *text)
{
  if (*text == '-' || *text == '+') text++;
  if (*text == '.') return isdigit((unsigned char)text[1]);
  return isdigit((unsigned char)*text) && !(text[0] == '0' && (text[1] == 'x' || text[1] == 'X'));
}

#endif
