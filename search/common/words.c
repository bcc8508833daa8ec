/* Parses the words of searches, their parameters: "beam=8,cells=2,43,measure". Does not use strtod,
 * because the decimal point of strtod depends on the locale. Called by search/searches.c,
 * search/fdt, search/greedy, search/motes, search/separable and api/choose.c. Allocates nothing. */
#include "search/common/search.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Parses "1.05" as 105 / 100. With at most 15 digits, both integers are exact in a double, so the
 * quotient is the nearest double. Returns false if the text is no number or has more digits. */
static bool read_number(const char *text, size_t n, double *number)
{
  enum { MOST_DIGITS = 15 };
  double digits = 0, scale = 1;
  bool after = false;
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    if (text[i] == '.' && !after) {
      after = true;
      continue;
    }
    if (!isdigit((unsigned char)text[i]) || ++count > MOST_DIGITS) return false;
    digits = 10 * digits + (text[i] - '0');
    if (after) scale *= 10;
  }
  *number = digits / scale;
  return count > 0;
}

static bool read_count(const char *text, size_t n, double *number)
{
  return !memchr(text, '.', n) && read_number(text, n, number);
}

/* Parses a size: "64K", "31M", "1G", also with "B" or "iB" after the letter, or an integer. Sets
 * *bytes. */
static bool read_size(const char *text, size_t n, double *bytes)
{
  static const char units[] = "KMG";
  double unit = 1;
  bool named = false;
  if (n >= 3 && memcmp(text + n - 2, "iB", 2) == 0) n -= 2, named = true;
  else if (n >= 2 && text[n - 1] == 'B') n--, named = true;
  const char *found =
      n ? memchr(units, toupper((unsigned char)text[n - 1]), sizeof units - 1) : NULL;
  for (const char *u = units; found && u <= found; u++) unit *= 1024;
  if ((named && !found) || !read_count(text, found ? n - 1 : n, bytes)) return false;
  *bytes *= unit;
  return *bytes <= (double)(SIZE_MAX / 2);
}

/* Index of a word in "a|b|c"; -1: none. */
static int find_choice(const char *choices, const char *text, size_t length)
{
  for (int i = 0; *choices; i++) {
    size_t n = strcspn(choices, "|");
    if (n == length && memcmp(choices, text, n) == 0) return i;
    choices += n + (choices[n] == '|');
  }
  return -1;
}

static bool read_value(struct mafat_search_value *v, const struct mafat_search_word *w,
                       const char *text, size_t n)
{
  bool good = true;
  v->text = text;
  v->length = n;
  switch (w->type) {
  case MAFAT_WORD_FLAG: return false; /* a flag has no value */
  case MAFAT_WORD_CHOICE: return (v->choice = find_choice(w->value, text, n)) >= 0;
  case MAFAT_WORD_COUNT: good = read_count(text, n, &v->number); break;
  case MAFAT_WORD_NUMBER: good = read_number(text, n, &v->number); break;
  case MAFAT_WORD_SIZE: good = read_size(text, n, &v->number); break;
  case MAFAT_WORD_TEXT: return true;
  }
  if (!good || v->number < w->least || (w->type != MAFAT_WORD_SIZE && v->number > w->most))
    return false;
  v->bytes = w->type == MAFAT_WORD_SIZE ? (size_t)v->number : 0;
  return true;
}

/* ---- messages ---- */

enum { ROOM = 200 }; /* bytes of a list in a message */

/* Writes "fdt|ffmt|both" as "fdt, ffmt or both". */
static void list_choices(char text[ROOM], const char *choices)
{
  for (size_t used = 0; *choices && used < ROOM;) {
    size_t n = strcspn(choices, "|");
    const char *next = choices + n + (choices[n] == '|');
    used += (size_t)snprintf(text + used, ROOM - used, "%.*s%s", (int)n, choices,
                             !*next              ? ""
                             : strchr(next, '|') ? ", "
                                                 : " or ");
    choices = next;
  }
}

static void describe_expected(char text[ROOM], const struct mafat_search_word *w)
{
  text[0] = '\0';
  switch (w->type) {
  case MAFAT_WORD_FLAG: snprintf(text, ROOM, "no value"); break;
  case MAFAT_WORD_CHOICE: list_choices(text, w->value); break;
  case MAFAT_WORD_COUNT:
    snprintf(text, ROOM, "a number from %.0f to %.0f", w->least, w->most);
    break;
  case MAFAT_WORD_NUMBER:
    snprintf(text, ROOM, "a number from %.0f to %.0f, such as %s", w->least, w->most, w->usual);
    break;
  case MAFAT_WORD_SIZE:
    snprintf(text, ROOM, "%sa size like %s", w->least > 0 ? "" : "0 or ", w->usual);
    break;
  case MAFAT_WORD_TEXT: snprintf(text, ROOM, "a value"); break;
  }
}

static int refuse_value(const struct mafat_search *s, const struct mafat_search_word *w,
                        const char *found, size_t n, struct mafat_diagnostic *d)
{
  char expected[ROOM];
  describe_expected(expected, w);
  return mafat_fail(d, MAFAT_EINVAL, "--search %s: %s expects %s, found %.*s", s->name, w->name,
                    expected, n < 60 ? (int)n : 60, found);
}

static int refuse_word(const struct mafat_search *s, const char *found, size_t n,
                       struct mafat_diagnostic *d)
{
  char words[ROOM] = "";
  size_t used = 0;
  int length = n < 60 ? (int)n : 60;
  for (int i = 0; i < s->n_words && used < sizeof words; i++)
    used += (size_t)snprintf(words + used, sizeof words - used, "%s%s", i ? ", " : "",
                             s->words[i].name);
  if (s->n_words == 0)
    return mafat_fail(d, MAFAT_EINVAL, "--search %s expects no words, found %.*s", s->name, length,
                      found);
  return mafat_fail(d, MAFAT_EINVAL, "--search %s expects words of its own (%s), found %.*s",
                    s->name, words, length, found);
}

/* ---- words ---- */

static int find_word(const struct mafat_search *s, const char *text, size_t n)
{
  for (int i = 0; i < s->n_words; i++)
    if (strlen(s->words[i].name) == n && memcmp(s->words[i].name, text, n) == 0) return i;
  return -1;
}

/* Length of the first word, with its value. It ends at a comma that is followed by a letter. Other
 * commas belong to the value: "cells=2,43". */
static size_t word_length(const char *text)
{
  size_t n = strcspn(text, ",");
  while (text[n] && !isalpha((unsigned char)text[n + 1])) n += 1 + strcspn(text + n + 1, ",");
  return n;
}

static int read_word(struct mafat_search_value *values, const struct mafat_search *s,
                     const char *text, size_t n, struct mafat_diagnostic *d)
{
  const char *equals = memchr(text, '=', n);
  size_t length = equals ? (size_t)(equals - text) : n;
  int i = find_word(s, text, length);
  if (i < 0) return refuse_word(s, text, length, d);
  values[i].given = true;
  if (s->words[i].type == MAFAT_WORD_FLAG && !equals) return MAFAT_OK;
  if (!equals) return refuse_value(s, &s->words[i], "nothing", 7, d);
  if (read_value(&values[i], &s->words[i], equals + 1, n - length - 1)) return MAFAT_OK;
  return refuse_value(s, &s->words[i], equals + 1, n - length - 1, d);
}

int mafat_search_words_read(struct mafat_search_value *values, const struct mafat_search *s,
                            const char *text, struct mafat_diagnostic *d)
{
  for (int i = 0; i < s->n_words; i++) {
    const char *usual = s->words[i].usual;
    values[i] = (struct mafat_search_value){.given = false};
    if (usual && !read_value(&values[i], &s->words[i], usual, strlen(usual)))
      return mafat_fail(d, MAFAT_EINVAL, "%s: %s", s->words[i].name, usual);
  }
  while (text && *text) {
    size_t n = word_length(text);
    int code = read_word(values, s, text, n, d);
    if (code) return code;
    text += n + (text[n] == ',');
  }
  return MAFAT_OK;
}

bool mafat_search_is_timed(const struct mafat_search *s, const char *text)
{
  struct mafat_search_value values[MAFAT_MOST_SEARCH_WORDS];
  int i = s->timed_by ? find_word(s, s->timed_by, strlen(s->timed_by)) : -1;
  return i >= 0 && mafat_search_words_read(values, s, text, NULL) == MAFAT_OK && values[i].given;
}
