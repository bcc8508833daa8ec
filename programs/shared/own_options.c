#include "programs/shared/own_options.h"

#include <string.h>

/* Which row an argument is of, with its value, if that stands behind a =; -1: of none. */
static int find(const struct mafat_own_option *rows, int n, const char *argument, const char **value)
{
  for (int i = 0; i < n; i++) {
    size_t length = strlen(rows[i].name);
    if (strncmp(argument, rows[i].name, length) != 0 || (argument[length] && argument[length] != '=')) continue;
    *value = argument[length] ? argument + length + 1 : NULL;
    return i;
  }
  return -1;
}

int mafat_own_options_take(void *options, const struct mafat_own_option *rows, int n_rows, int *argc, char **argv, struct mafat_diagnostic *d)
{
  int n = 0, code = MAFAT_OK;
  for (int i = 0; i < *argc; i++) {
    const char *value;
    int row = find(rows, n_rows, argv[i], &value);
    if (row < 0) {
      argv[n++] = argv[i];
      continue;
    }
    if (!value && rows[row].expects && i + 1 < *argc) value = argv[++i];
    if (value && !rows[row].expects) code = mafat_fail(d, MAFAT_EINVAL, "%s: this option expects no value", rows[row].name);
    else if (!value && rows[row].expects) code = mafat_fail(d, MAFAT_EINVAL, "%s expects a value: see --help", rows[row].name);
    else if (!rows[row].read(options, value))
      code = mafat_fail(d, MAFAT_EINVAL, "%s expects %s, found %.100s", rows[row].name, rows[row].expects, value);
  }
  *argc = n;
  argv[n] = NULL;
  return code;
}
