/* Options of a program as rows of integers (options.def): parses a command line by them, and prints
 * --help. Rows and texts contain no addresses, so a position-independent program relocates none of
 * them. Nothing here calls the library. Included by programs/annotate/annotate.c,
 * programs/make_weights/make_weights.c, programs/pack_weights/pack_weights.c,
 * programs/run_inference/options.h and option_rows.h. */
#ifndef MAFAT_PROGRAMS_OPTION_H
#define MAFAT_PROGRAMS_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Type of a value, and of the member that receives it. */
enum mafat_option_type {
  MAFAT_OPTION_FLAG,          /* bool; no value */
  MAFAT_OPTION_TEXT,          /* const char * */
  MAFAT_OPTION_NAME,          /* const char *, not empty */
  MAFAT_OPTION_WORD,          /* const char *: one of the row's values */
  MAFAT_OPTION_OPTIONAL_WORD, /* the same, or no value: "" */
  MAFAT_OPTION_SIZE,  /* size_t, bytes: 64M; in the range of the values, above 0 without one */
  MAFAT_OPTION_COUNT, /* int, in a range */
  MAFAT_OPTION_COUNT_OR_AUTO,  /* int; auto: MAFAT_OPTION_AUTO */
  MAFAT_OPTION_NUMBER,         /* double, in a range */
  MAFAT_OPTION_FRACTION,       /* float, in a range */
  MAFAT_OPTION_FLOAT,          /* struct mafat_option_floats, one number, in a range */
  MAFAT_OPTION_FLOATS,         /* struct mafat_option_floats: three numbers, or one for all */
  MAFAT_OPTION_LIST,           /* struct mafat_option_list: as often as the values say */
  MAFAT_OPTION_PAIRS,          /* the same of NAME=VALUE */
  MAFAT_OPTION_SIZES,          /* struct mafat_option_sizes: 8M,16M */
  MAFAT_OPTION_OPTIONAL_SIZES, /* the same, or no value */
  MAFAT_OPTION_SPEEDS,         /* struct mafat_option_speeds: 1,0.5 */
  MAFAT_OPTION_LINK            /* struct mafat_option_link: 100M:0.2ms */
};

enum {
  MAFAT_OPTION_AUTO = -1, MAFAT_OPTION_LIST_ROOM = 16, MAFAT_OPTION_SIZES_ROOM = 64,
  MAFAT_OPTION_TEXT_ROOM = 400,
  MAFAT_OPTIONS_MOST = 128
};

struct mafat_option_floats { int n; float x[3]; };
struct mafat_option_list { int n; const char *list[MAFAT_OPTION_LIST_ROOM]; };
struct mafat_option_sizes { bool given; int n; size_t list[MAFAT_OPTION_SIZES_ROOM]; };
struct mafat_option_speeds { int n; double list[MAFAT_OPTION_SIZES_ROOM]; };
struct mafat_option_link { double bits, seconds; }; /* a second; that a message takes */

/* Texts are offsets in the table's. */
struct mafat_option {
  uint16_t name, argument, values, expects, member;
  uint8_t type, letter, programs; /* programs: bits that the table's users give a meaning */
  bool renamed; /* an option of before: read, and in no --help */
};

/* The environment variable of an option that is not given. */
struct mafat_option_variable {
  uint8_t row;
  char name[31];
};

struct mafat_option_table {
  const struct mafat_option *rows;
  int n;
  const char *texts;
  const struct mafat_option_variable *variables;
  int n_variables;
};

/* A command line as it is read. */
struct mafat_option_reader {
  const struct mafat_option_table *table;
  unsigned programs;  /* whose rows are read */
  unsigned others;    /* whose options are read, too, for the caller to refuse them; no variables */
  bool in_order;      /* what is no option ends them: a command's words follow */
  int argc;
  char **argv;
  int row;            /* of the option that was read, or refused; -1: there is none */
  const char *value;  /* NULL: none */
  bool given[MAFAT_OPTIONS_MOST]; /* [row] */
  int next_variable;  /* -1: the command line is not read to its end */
  char refused[MAFAT_OPTION_TEXT_ROOM]; /* "--beam expects a number from 1 to 64, found 0" */
};

enum mafat_option_answer {
  MAFAT_OPTION_READ, MAFAT_OPTION_END, MAFAT_OPTION_LACKS_VALUE, MAFAT_OPTION_BAD_VALUE,
  MAFAT_OPTION_REFUSED
};

void mafat_option_begin(struct mafat_option_reader *r, const struct mafat_option_table *table,
                        unsigned programs, int argc, char **argv);
/* Reads the next option into the program's struct; after the last one, the variables of options
 * that are not given. END: optind is the first argument. Otherwise `refused` says what is wrong. */
enum mafat_option_answer mafat_option_next(struct mafat_option_reader *r, void *options);

/* Rows of `programs` alone are taken out of the arguments, and the rest is another's: *argc and
 * argv are without them then. */
enum mafat_option_answer mafat_option_take(struct mafat_option_reader *r, void *options, int *argc);

static inline const char *mafat_option_name(const struct mafat_option_table *t, int row)
{
  return t->texts + t->rows[row].name;
}
/* "a number from 1 to 64", "auto, on or off" */
const char *mafat_option_expects(const struct mafat_option_table *t, int row,
                                 char text[MAFAT_OPTION_TEXT_ROOM]);
/* False: the value is none that is expected. */
bool mafat_option_convert(const struct mafat_option_table *t, int row, const char *value,
                          void *options);
/* "127.5" for all n, or n of them like "1,2/3,4.5": how many there are, 1 or n; 0: it is neither.
 */
int mafat_option_floats_read(const char *text, int n, float *values);

#endif
