/* The options of a program as rows of integers (from options.def), and parsing of a command line
 * by them. Rows and texts contain no addresses, so a position-independent program need not
 * relocate them. Calls nothing in libmafat; reads environment variables. Included by
 * programs/annotate/annotate.c, programs/make_weights/make_weights.c,
 * programs/pack_weights/pack_weights.c, programs/run_inference/options.h and option_rows.h. */
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
  MAFAT_OPTION_OPTIONAL_WORD, /* like WORD, or no value: "" */
  MAFAT_OPTION_SIZE,  /* size_t, bytes: 64M; in a range; 0 is accepted if the range begins with 0 */
  MAFAT_OPTION_COUNT, /* int, in a range */
  MAFAT_OPTION_COUNT_OR_AUTO,  /* int; auto: MAFAT_OPTION_AUTO */
  MAFAT_OPTION_NUMBER,         /* double, in a range */
  MAFAT_OPTION_FRACTION,       /* float, in a range */
  MAFAT_OPTION_FLOAT,          /* struct mafat_option_floats, one number, in a range */
  MAFAT_OPTION_FLOATS,         /* struct mafat_option_floats: three numbers, or one for all */
  MAFAT_OPTION_LIST, /* struct mafat_option_list; may be repeated as often as the row says */
  MAFAT_OPTION_PAIRS,          /* like LIST, of NAME=VALUE */
  MAFAT_OPTION_SIZES,          /* struct mafat_option_sizes: 8M,16M */
  MAFAT_OPTION_OPTIONAL_SIZES, /* like SIZES, sorted; or no value */
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
struct mafat_option_link { double bits, seconds; }; /* bits per second; seconds for each message */

/* One option. `name`, `argument`, `values` and `expects` are offsets in the table's texts;
 * `member` is the offset in the program's struct. */
struct mafat_option {
  uint16_t name, argument, values, expects, member;
  uint8_t type, letter, programs; /* programs: bits, whose meaning the table's users define */
  bool renamed; /* a former option: still read, but not in --help */
};

/* The environment variable that replaces the option of a row when it is not given. */
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

/* The state of reading a command line. */
struct mafat_option_reader {
  const struct mafat_option_table *table;
  unsigned programs;  /* bits: the options of these programs are read */
  /* bits: the options of these programs are read, too, so that the caller can refuse them by name;
   * their environment variables are not read */
  unsigned others;
  bool in_order;      /* reading ends at the first argument: a command's words follow */
  int argc;
  char **argv;
  int row;            /* row of the option that was read or refused; -1: none */
  const char *value;  /* NULL: none */
  bool given[MAFAT_OPTIONS_MOST]; /* [row] */
  int next_variable;  /* index of the next of table->variables; -1: the command line is not read to
                         its end */
  char refused[MAFAT_OPTION_TEXT_ROOM]; /* "--beam expects a number from 1 to 64, found 0" */
};

enum mafat_option_answer {
  MAFAT_OPTION_READ, MAFAT_OPTION_END, MAFAT_OPTION_LACKS_VALUE, MAFAT_OPTION_BAD_VALUE,
  MAFAT_OPTION_REFUSED
};

void mafat_option_begin(struct mafat_option_reader *r, const struct mafat_option_table *table,
                        unsigned programs, int argc, char **argv);
/* Reads the next option into the program's struct; after the last one, the environment variables
 * of options that are not given. MAFAT_OPTION_END: all are read, and optind is the index of the
 * first argument. After any other answer but READ, r->refused has the message. */
enum mafat_option_answer mafat_option_next(struct mafat_option_reader *r, void *options);

/* Reads the options that belong to r->programs and to no other program, and removes them from argv,
 * so that another parser can read the rest. Reduces *argc by the removed words. */
enum mafat_option_answer mafat_option_take(struct mafat_option_reader *r, void *options, int *argc);

static inline const char *mafat_option_name(const struct mafat_option_table *t, int row)
{
  return t->texts + t->rows[row].name;
}
/* Describes the values that the row accepts: "a number from 1 to 64", "auto, on or off". Returns
 * `text` or a constant. */
const char *mafat_option_expects(const struct mafat_option_table *t, int row,
                                 char text[MAFAT_OPTION_TEXT_ROOM]);
/* Converts the value and stores it in the row's member of `options`. Returns false if it is not
 * accepted. */
bool mafat_option_convert(const struct mafat_option_table *t, int row, const char *value,
                          void *options);
/* Reads "127.5" for all n values, or n values such as "1,2/3,4.5". Returns how many numbers the
 * text has, 1 or n; 0: the text is neither. */
int mafat_option_floats_read(const char *text, int n, float *values);

#endif
