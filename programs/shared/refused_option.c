/* Writes messages about command lines that getopt_long rejects. Called by option.c,
 * programs/mafat/doctor.c, programs/memory_limit and programs/swap_cost. Reads getopt's optopt and
 * optind; prints nothing. */
#include "programs/shared/refused_option.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "programs/shared/nearest.h"

/* Writes "--force" and returns true, or, if no long option has this value, writes "-x" and
 * returns false. */
static bool name_option(char name[MAFAT_REFUSED_ROOM / 2], const struct option *table, int value)
{
  for (; table->name && table->val != value; table++) continue;
  if (table->name) snprintf(name, MAFAT_REFUSED_ROOM / 2, "--%s", table->name);
  else snprintf(name, MAFAT_REFUSED_ROOM / 2, "-%c", value);
  return table->name != NULL;
}

/* Writes "--me may be --memory, --measure". Returns false if fewer than two options begin with
 * the word. */
static bool name_those_that_begin(char text[MAFAT_REFUSED_ROOM], const char *word,
                                  const struct option *table)
{
  size_t length = strncmp(word, "--", 2) == 0 ? strcspn(word + 2, "=") : 0, used;
  int n = 0;
  if (length == 0 || length > MAFAT_REFUSED_ROOM / 2) return false;
  used = (size_t)snprintf(text, MAFAT_REFUSED_ROOM, "%.*s may be", (int)length + 2, word);
  for (; table->name && used < MAFAT_REFUSED_ROOM; table++) {
    if (strncmp(table->name, word + 2, length) != 0) continue;
    used += (size_t)snprintf(text + used, MAFAT_REFUSED_ROOM - used, "%s --%s", n++ ? "," : "",
                             table->name);
  }
  if (used < MAFAT_REFUSED_ROOM) snprintf(text + used, MAFAT_REFUSED_ROOM - used, "; see --help");
  return n > 1;
}

void mafat_refused_unknown(char text[MAFAT_REFUSED_ROOM], const char *word,
                           const struct option *table)
{
  struct mafat_nearest near = {word, 0, NULL, 0};
  if (strncmp(word, "--", 2) == 0)
    near = (struct mafat_nearest){word + 2, strcspn(word + 2, "="), NULL, 0};
  for (; near.length && table->name; table++) mafat_nearest_try(&near, table->name);
  if (near.best)
    snprintf(text, MAFAT_REFUSED_ROOM, "unknown option %.100s: did you mean --%s?", word,
             near.best);
  else snprintf(text, MAFAT_REFUSED_ROOM, "unknown option %.100s; see --help", word);
}

void mafat_refused_option(char text[MAFAT_REFUSED_ROOM], int answer, const struct option *table,
                          char *const *argv)
{
  char name[MAFAT_REFUSED_ROOM / 2];
  /* After a long option that is unknown or ambiguous, optopt is 0 and optind is the index after
   * it. After a letter that is not the last of its word, optind is still the word's index. */
  if (answer == '?' && optopt == 0) {
    const char *word = argv[optind - 1];
    if (!name_those_that_begin(text, word, table)) mafat_refused_unknown(text, word, table);
    return;
  }
  bool known = name_option(name, table, optopt);
  if (answer == ':') snprintf(text, MAFAT_REFUSED_ROOM, "%s expects a value; see --help", name);
  else if (known)
    snprintf(text, MAFAT_REFUSED_ROOM, "%s: this option expects no value; see --help", name);
  else snprintf(text, MAFAT_REFUSED_ROOM, "unknown option %s; see --help", name);
}
