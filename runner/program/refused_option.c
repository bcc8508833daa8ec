#include "runner/program/refused_option.h"

#include <stdbool.h>
#include <stdio.h>

/* "--force"; false: "-x", of a letter that no long option has. */
static bool name_option(char name[MAFAT_REFUSED_ROOM / 2], const struct option *table, int value)
{
  for (; table->name && table->val != value; table++) continue;
  if (table->name) snprintf(name, MAFAT_REFUSED_ROOM / 2, "--%s", table->name);
  else snprintf(name, MAFAT_REFUSED_ROOM / 2, "-%c", value);
  return table->name != NULL;
}

void mafat_refused_option(char text[MAFAT_REFUSED_ROOM], int answer, const struct option *table, char *const *argv)
{
  char name[MAFAT_REFUSED_ROOM / 2];
  /* optopt is 0 for a long option that there is not, or that is shortened to what several begin with: optind is behind it. Of letters
   * in one word it is not, until the last. */
  if (answer == '?' && optopt == 0) {
    snprintf(text, MAFAT_REFUSED_ROOM, "unknown option %.100s", argv[optind - 1]);
    return;
  }
  bool known = name_option(name, table, optopt);
  if (answer == ':') snprintf(text, MAFAT_REFUSED_ROOM, "%s expects a value", name);
  else if (known) snprintf(text, MAFAT_REFUSED_ROOM, "%s: this option expects no value", name);
  else snprintf(text, MAFAT_REFUSED_ROOM, "unknown option %s", name);
}
