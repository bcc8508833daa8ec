#include "programs/shared/refused_option.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* "--force"; false: "-x", of a letter that no long option has. */
static bool name_option(char name[MAFAT_REFUSED_ROOM / 2], const struct option *table, int value)
{
  for (; table->name && table->val != value; table++) continue;
  if (table->name) snprintf(name, MAFAT_REFUSED_ROOM / 2, "--%s", table->name);
  else snprintf(name, MAFAT_REFUSED_ROOM / 2, "-%c", value);
  return table->name != NULL;
}

/* "--me" of --memory and --measure; false: not even two begin with it. */
static bool name_those_that_begin(char text[MAFAT_REFUSED_ROOM], const char *word, const struct option *table)
{
  size_t length = strncmp(word, "--", 2) == 0 ? strcspn(word + 2, "=") : 0, used;
  int n = 0;
  if (length == 0 || length > MAFAT_REFUSED_ROOM / 2) return false;
  used = (size_t)snprintf(text, MAFAT_REFUSED_ROOM, "%.*s may be", (int)length + 2, word);
  for (; table->name && used < MAFAT_REFUSED_ROOM; table++) {
    if (strncmp(table->name, word + 2, length) != 0) continue;
    used += (size_t)snprintf(text + used, MAFAT_REFUSED_ROOM - used, "%s --%s", n++ ? "," : "", table->name);
  }
  return n > 1;
}

void mafat_refused_option(char text[MAFAT_REFUSED_ROOM], int answer, const struct option *table, char *const *argv)
{
  char name[MAFAT_REFUSED_ROOM / 2];
  /* optopt is 0 for a long option that there is not, or that is shortened to what several begin with: optind is behind it. Of letters
   * in one word it is not, until the last. */
  if (answer == '?' && optopt == 0) {
    const char *word = argv[optind - 1];
    if (!name_those_that_begin(text, word, table)) snprintf(text, MAFAT_REFUSED_ROOM, "unknown option %.100s", word);
    return;
  }
  bool known = name_option(name, table, optopt);
  if (answer == ':') snprintf(text, MAFAT_REFUSED_ROOM, "%s expects a value", name);
  else if (known) snprintf(text, MAFAT_REFUSED_ROOM, "%s: this option expects no value", name);
  else snprintf(text, MAFAT_REFUSED_ROOM, "unknown option %s", name);
}
