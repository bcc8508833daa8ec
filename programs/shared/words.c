/* Parses sizes, speeds and links in option values. Called by option.c and mafat_serve/route.c.
 * Touches only its arguments. */
#include "programs/shared/words.h"

#include "programs/shared/decimal.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool mafat_words_size(const char *text, size_t *bytes)
{
  if (!isdigit((unsigned char)*text)) return false;
  char *end;
  errno = 0;
  unsigned long long n = strtoull(text, &end, 10), unit = 1;
  if (errno) return false;
  switch (*end) {
  case 'k': case 'K': unit = 1ULL << 10; end++; break;
  case 'm': case 'M': unit = 1ULL << 20; end++; break;
  case 'g': case 'G': unit = 1ULL << 30; end++; break;
  default: break;
  }
  if (unit > 1 && (strcmp(end, "iB") == 0 || strcmp(end, "B") == 0)) end += strlen(end);
  unsigned long long product;
  if (*end || n == 0 || __builtin_mul_overflow(n, unit, &product) || product > SIZE_MAX)
    return false;
  *bytes = (size_t)product;
  return true;
}

/* Copies the text up to the next comma to `word` and moves *text to the comma. Returns false if the
 * word is empty or too long. */
static bool next_word(const char **text, char *word, size_t bytes)
{
  size_t n = strcspn(*text, ",");
  if (n == 0 || n >= bytes) return false;
  memcpy(word, *text, n);
  word[n] = '\0';
  *text += n;
  return true;
}

bool mafat_words_sizes(const char *text, size_t *sizes, int most, int *n)
{
  char word[32];
  for (*n = 0; *n < most; text++) {
    if (!next_word(&text, word, sizeof word) || !mafat_words_size(word, &sizes[(*n)++]))
      return false;
    if (!*text) return true;
  }
  return false;
}

bool mafat_words_speeds(const char *text, double *speeds, int *n)
{
  char word[32], *end;
  for (*n = 0; *n < MAFAT_WORDS_RANKS; text++) {
    if (!next_word(&text, word, sizeof word)) return false;
    double speed = strtod(word, &end);
    if (!mafat_decimal_begins(word) || *end || !(speed >= 1e-3 && speed <= 1e3)) return false;
    speeds[(*n)++] = speed;
    if (!*text) return true;
  }
  return false;
}

bool mafat_words_link(const char *text, double *bits, double *seconds)
{
  static const char units[] = "kMG";
  char *end;
  *seconds = 0;
  *bits = strtod(text, &end);
  const char *unit = *end ? strchr(units, *end) : NULL;
  for (const char *u = units; unit && u <= unit; u++) *bits *= 1e3;
  if (unit) end++;
  bool good = mafat_decimal_begins(text) && *bits > 0 && *bits < 1e15;
  if (!good || !*end) return good;
  if (*end++ != ':') return false;
  const char *delay = end;
  *seconds = strtod(delay, &end) * 1e-3;
  return mafat_decimal_begins(delay) && strcmp(end, "ms") == 0 && *seconds >= 0 && *seconds < 1e3;
}
