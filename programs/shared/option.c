/* Parses command lines by rows of options.def: builds a table for getopt_long, and converts each
 * type. Called by programs/annotate, programs/make_weights, programs/pack_weights and
 * programs/run_inference/options.c. Reads environment variables; sets getopt's global variables. */
#include "programs/shared/option.h"

#include "programs/shared/decimal.h"
#include "programs/shared/refused_option.h"
#include "programs/shared/words.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 256 }; /* what getopt_long returns for row 0; above all letters */

/* ---- values ---- */

static bool is_word(const char *words, const char *value)
{
  size_t length = strlen(value);
  for (; *words; words += *words == '|') {
    size_t n = strcspn(words, "|");
    if (n == length && memcmp(words, value, n) == 0) return true;
    words += n;
  }
  return false;
}

/* Reads "1-64"; a missing number means no bound. */
static void read_range(const char *values, double *least, double *most)
{
  char *end;
  *least = -INFINITY;
  *most = INFINITY;
  if (!*values) return;
  *least = strtod(values, &end);
  if (*end == '-' && end[1]) *most = strtod(end + 1, NULL);
}

static bool read_number(const char *text, const char *values, double *value)
{
  char *end;
  double least, most;
  read_range(values, &least, &most);
  *value = strtod(text, &end);
  return mafat_decimal_begins(text) && !*end && isfinite(*value) && *value >= least &&
         *value <= most;
}

static bool read_count(const char *text, const char *values, int *count)
{
  char *end;
  double least, most;
  read_range(values, &least, &most);
  errno = 0;
  long n = strtol(text, &end, 10);
  if (!isdigit((unsigned char)*text) || errno || *end || (double)n < least || (double)n > most)
    return false;
  *count = (int)n;
  return true;
}

/* Reads a size within the range of `values`, such as "64K-1G". "0" is allowed only if `values`
 * begins with 0. */
static bool read_size(const char *text, const char *values, size_t *bytes)
{
  char word[16];
  size_t bound, n = strcspn(values, "-");
  if (strcmp(text, "0") == 0) {
    *bytes = 0;
    return *values == '0';
  }
  if (!mafat_words_size(text, bytes)) return false;
  snprintf(word, sizeof word, "%.*s", (int)n, values);
  if (mafat_words_size(word, &bound) && *bytes < bound) return false;
  return !values[n] || !mafat_words_size(values + n + 1, &bound) || *bytes <= bound;
}

static bool add_to_list(struct mafat_option_list *l, const char *value, const char *values)
{
  if (l->n == MAFAT_OPTION_LIST_ROOM || l->n == atoi(values)) return false;
  l->list[l->n++] = value;
  return true;
}

static int compare_sizes(const void *a, const void *b)
{
  size_t x = *(const size_t *)a, y = *(const size_t *)b;
  return (x > y) - (x < y);
}

/* Reads a list of sizes, and sorts it if `sorted`. text NULL: an empty list. */
static bool read_sizes(const char *text, struct mafat_option_sizes *s, bool sorted)
{
  s->given = true;
  s->n = 0;
  if (!text) return true;
  if (!mafat_words_sizes(text, s->list, MAFAT_OPTION_SIZES_ROOM, &s->n)) return false;
  if (sorted) qsort(s->list, (size_t)s->n, sizeof *s->list, compare_sizes);
  return true;
}

/* Reads "127.5" or "1/127.5". Returns the end of the number; NULL: it is not a number. */
static const char *read_ratio(const char *text, float *value)
{
  char *end;
  *value = strtof(text, &end);
  if (!mafat_decimal_begins(text) || !isfinite(*value)) return NULL;
  if (*end != '/') return end;
  const char *divisor = end + 1;
  *value /= strtof(divisor, &end);
  return !mafat_decimal_begins(divisor) || !isfinite(*value) ? NULL : end;
}

int mafat_option_floats_read(const char *text, int n, float *values)
{
  int read = 0;
  for (; read < n; read++) {
    const char *end = read_ratio(text, &values[read]);
    if (!end || (*end && *end != ',')) return 0;
    if (!*end) break;
    text = end + 1;
  }
  if (read == n - 1) return n;
  for (int i = 1; i < n; i++) values[i] = values[0];
  return read == 0;
}

static bool read_float(const char *text, const char *values, struct mafat_option_floats *f)
{
  double least, most;
  read_range(values, &least, &most);
  f->n = mafat_option_floats_read(text, 1, f->x);
  return f->n == 1 && (double)f->x[0] >= least && (double)f->x[0] <= most;
}

static bool read_fraction(const char *text, const char *values, float *value)
{
  double x;
  if (!read_number(text, values, &x)) return false;
  *value = strtof(text, NULL);
  return true;
}

bool mafat_option_convert(const struct mafat_option_table *t, int row, const char *value,
                          void *options)
{
  const struct mafat_option *o = &t->rows[row];
  void *member = (char *)options + o->member;
  const char *values = t->texts + o->values;
  struct mafat_option_link *link = member;
  struct mafat_option_speeds *speeds = member;
  struct mafat_option_floats *floats = member;
  switch ((enum mafat_option_type)o->type) {
  case MAFAT_OPTION_FLAG: return *(bool *)member = true;
  case MAFAT_OPTION_TEXT: *(const char **)member = value; return true;
  case MAFAT_OPTION_NAME: *(const char **)member = value; return *value != '\0';
  case MAFAT_OPTION_WORD: *(const char **)member = value; return is_word(values, value);
  case MAFAT_OPTION_OPTIONAL_WORD:
    *(const char **)member = value ? value : "";
    return !value || is_word(values, value);
  case MAFAT_OPTION_SIZE: return read_size(value, values, member);
  case MAFAT_OPTION_COUNT: return read_count(value, values, member);
  case MAFAT_OPTION_COUNT_OR_AUTO:
    *(int *)member = MAFAT_OPTION_AUTO;
    return strcmp(value, "auto") == 0 || read_count(value, values, member);
  case MAFAT_OPTION_NUMBER: return read_number(value, values, member);
  case MAFAT_OPTION_FRACTION: return read_fraction(value, values, member);
  case MAFAT_OPTION_FLOAT: return read_float(value, values, floats);
  case MAFAT_OPTION_FLOATS: return (floats->n = mafat_option_floats_read(value, 3, floats->x)) > 0;
  case MAFAT_OPTION_LIST: return add_to_list(member, value, values);
  case MAFAT_OPTION_PAIRS: return strchr(value, '=') && add_to_list(member, value, values);
  case MAFAT_OPTION_SIZES: return read_sizes(value, member, false);
  case MAFAT_OPTION_OPTIONAL_SIZES: return read_sizes(value, member, true);
  case MAFAT_OPTION_SPEEDS: return mafat_words_speeds(value, speeds->list, &speeds->n);
  case MAFAT_OPTION_LINK: return mafat_words_link(value, &link->bits, &link->seconds);
  }
  return false;
}

/* Writes "auto|on|off" as "auto, on or off". */
static void list_words(char text[MAFAT_OPTION_TEXT_ROOM], const char *words)
{
  for (size_t used = 0; *words && used < MAFAT_OPTION_TEXT_ROOM;) {
    int n = (int)strcspn(words, "|");
    const char *next = words + n + (words[n] == '|');
    used += (size_t)snprintf(text + used, MAFAT_OPTION_TEXT_ROOM - used, "%.*s%s", n, words,
                             !*next              ? ""
                             : strchr(next, '|') ? ", "
                                                 : " or ");
    words = next;
  }
}

const char *mafat_option_expects(const struct mafat_option_table *t, int row,
                                 char text[MAFAT_OPTION_TEXT_ROOM])
{
  const struct mafat_option *o = &t->rows[row];
  const char *values = t->texts + o->values, *dash = strchr(values, '-');
  if (t->texts[o->expects]) return t->texts + o->expects;
  if (o->type == MAFAT_OPTION_WORD || o->type == MAFAT_OPTION_OPTIONAL_WORD)
    list_words(text, values);
  else
    snprintf(text, MAFAT_OPTION_TEXT_ROOM, "a number from %.*s to %s%s",
             dash ? (int)(dash - values) : 0, values, dash ? dash + 1 : "",
             o->type == MAFAT_OPTION_COUNT_OR_AUTO ? ", or auto" : "");
  return text;
}

/* ---- the command line ---- */

static bool takes_value(const struct mafat_option_table *t, int row)
{
  return t->rows[row].type != MAFAT_OPTION_FLAG;
}

static bool value_is_optional(const struct mafat_option_table *t, int row)
{
  return t->rows[row].type == MAFAT_OPTION_OPTIONAL_SIZES ||
         t->rows[row].type == MAFAT_OPTION_OPTIONAL_WORD;
}

void mafat_option_begin(struct mafat_option_reader *r, const struct mafat_option_table *table,
                        unsigned programs, int argc, char **argv)
{
  *r = (struct mafat_option_reader){.table = table,
                                    .programs = programs,
                                    .argc = argc,
                                    .argv = argv,
                                    .row = -1,
                                    .next_variable = -1};
  opterr = 0; /* mafat_refused_option writes the message instead */
  optind = 1;
}

static int list_long(const struct mafat_option_reader *r,
                     struct option list[MAFAT_OPTIONS_MOST + 1])
{
  int n = 0;
  for (int i = 0; i < r->table->n && n < MAFAT_OPTIONS_MOST; i++) {
    const struct mafat_option *o = &r->table->rows[i];
    if (!(o->programs & (r->programs | r->others)) || !*mafat_option_name(r->table, i)) continue;
    int has = !takes_value(r->table, i)        ? no_argument
              : value_is_optional(r->table, i) ? optional_argument
                                               : required_argument;
    list[n++] = (struct option){mafat_option_name(r->table, i), has, NULL, FIRST + i};
  }
  list[n] = (struct option){NULL, 0, NULL, 0};
  return n;
}

static void list_short(const struct mafat_option_reader *r, char *text)
{
  if (r->in_order) *text++ = '+';
  *text++ = ':';
  for (int i = 0; i < r->table->n; i++) {
    const struct mafat_option *o = &r->table->rows[i];
    if (!o->letter || !(o->programs & (r->programs | r->others))) continue;
    *text++ = (char)o->letter;
    if (takes_value(r->table, i) && !value_is_optional(r->table, i)) *text++ = ':';
  }
  *text = '\0';
}

static int row_of(const struct mafat_option_reader *r, int value)
{
  if (value >= FIRST) return value - FIRST;
  for (int i = 0; i < r->table->n; i++)
    if (value && r->table->rows[i].letter == value &&
        (r->table->rows[i].programs & (r->programs | r->others)))
      return i;
  return -1;
}

/* Writes the message about an invalid value. dashes and name: "--" and an option, or "" and an
 * environment variable. */
static enum mafat_option_answer refuse_value(struct mafat_option_reader *r, const char *dashes,
                                             const char *name)
{
  char text[MAFAT_OPTION_TEXT_ROOM];
  snprintf(r->refused, sizeof r->refused, "%s%s expects %s, found %.100s", dashes, name,
           mafat_option_expects(r->table, r->row, text), r->value ? r->value : "nothing");
  return MAFAT_OPTION_BAD_VALUE;
}

static enum mafat_option_answer read_variables(struct mafat_option_reader *r, void *options)
{
  while (r->next_variable < r->table->n_variables) {
    const struct mafat_option_variable *v = &r->table->variables[r->next_variable++];
    const char *value = getenv(v->name);
    if (!value || r->given[v->row] || !(r->table->rows[v->row].programs & r->programs)) continue;
    r->row = v->row;
    r->value = value;
    r->given[v->row] = true;
    return mafat_option_convert(r->table, v->row, value, options) ? MAFAT_OPTION_READ
                                                                  : refuse_value(r, "", v->name);
  }
  return MAFAT_OPTION_END;
}

enum mafat_option_answer mafat_option_next(struct mafat_option_reader *r, void *options)
{
  struct option list[MAFAT_OPTIONS_MOST + 1];
  char letters[2 * MAFAT_OPTIONS_MOST];
  if (r->next_variable >= 0) return read_variables(r, options);
  list_long(r, list);
  list_short(r, letters);
  int found = getopt_long(r->argc, r->argv, letters, list, NULL);
  if (found == -1) return r->next_variable = 0, read_variables(r, options);
  if (found == ':' || found == '?') {
    r->row = row_of(r, optopt);
    mafat_refused_option(r->refused, found, list, r->argv);
    return found == ':' ? MAFAT_OPTION_LACKS_VALUE : MAFAT_OPTION_REFUSED;
  }
  r->row = row_of(r, found);
  r->value = optarg;
  if (!mafat_option_convert(r->table, r->row, r->value, options))
    return refuse_value(r, "--", mafat_option_name(r->table, r->row));
  r->given[r->row] = true;
  /* getopt_long accepts an optional value only after =. So in "--sweep 8M,16M" the next word is
   * tried as the value; if it is none, it stays an argument. */
  if (value_is_optional(r->table, r->row) && !r->value && optind < r->argc) {
    if (mafat_option_convert(r->table, r->row, r->argv[optind], options))
      r->value = r->argv[optind++];
    else mafat_option_convert(r->table, r->row, NULL, options);
  }
  return MAFAT_OPTION_READ;
}

/* Returns the row of the option that `argument` names, if only r->programs have this option; -1:
 * none. *value: the text after =, or NULL. */
static int find_own(const struct mafat_option_reader *r, const char *argument, const char **value)
{
  if (strncmp(argument, "--", 2) != 0) return -1;
  size_t length = strcspn(argument + 2, "=");
  if (!length) return -1;
  for (int i = 0; i < r->table->n; i++) {
    const char *name = mafat_option_name(r->table, i);
    if (r->table->rows[i].programs != r->programs || strlen(name) != length ||
        memcmp(name, argument + 2, length) != 0)
      continue;
    *value = argument[2 + length] ? argument + 2 + length + 1 : NULL;
    return i;
  }
  return -1;
}

enum mafat_option_answer mafat_option_take(struct mafat_option_reader *r, void *options, int *argc)
{
  enum mafat_option_answer answer = MAFAT_OPTION_READ;
  int n = 0;
  for (int i = 0; i < *argc; i++) {
    const char *value;
    int row = find_own(r, r->argv[i], &value);
    if (row < 0) {
      r->argv[n++] = r->argv[i];
      continue;
    }
    r->row = row;
    if (!value && takes_value(r->table, row) && i + 1 < *argc) value = r->argv[++i];
    r->value = value;
    if (!value != !takes_value(r->table, row)) {
      snprintf(r->refused, sizeof r->refused,
               value ? "--%s: this option expects no value; see --help"
                     : "--%s expects a value; see --help",
               mafat_option_name(r->table, row));
      answer = MAFAT_OPTION_REFUSED;
    } else if (!mafat_option_convert(r->table, row, value, options)) {
      answer = refuse_value(r, "--", mafat_option_name(r->table, row));
    }
  }
  *argc = n;
  r->argv[n] = NULL;
  return answer;
}
