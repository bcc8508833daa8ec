/* Command line of run_inference, mafat_serve and mafat_ranks, parsed into one struct. Opens the
 * model file. Included by programs/mafat_serve and programs/run_inference; called by
 * programs/mafat_ranks. */
#ifndef MAFAT_PROGRAM_OPTIONS_H
#define MAFAT_PROGRAM_OPTIONS_H

#include "include/mafat_file.h"
#include "programs/shared/option.h"

#include <string.h>

#define OPTIONS_OF_RUN

/* The program whose command line it is. */
enum mafat_program { MAFAT_RUN_INFERENCE = 1, MAFAT_SERVE = 2, MAFAT_RANKS = 4 };

enum { MAFAT_SEARCH_ROOM = 512, MAFAT_RENAMED_MOST = 16 };

struct mafat_options {
#include "programs/shared/option_members.h"
  enum mafat_program program;
  const char *cfg, *weights; /* NULL: not given, or the model's file holds its weights */
  struct mafat_file model; /* the file `cfg`, opened by mafat_options_read */
  char **images;          /* the rest of the command line; "-" reads a list from stdin */
  int n_images;
  bool paper;             /* --predictor paper */
  const char *share; /* name of a search for several devices (--search); NULL: deeperthings */
  char search_text[MAFAT_SEARCH_ROOM];    /* text to which `search` points: a search for one device
                                             with its words; `search` NULL: best */
  char objective_text[MAFAT_SEARCH_ROOM]; /* text to which `objective` points if no plan is given:
                                             the search's word "objective" */
  bool renamed_FLAG;      /* parsed values of former options that are words of a search now */
  const char *renamed_TEXT;
  struct {
    int row;           /* in the table of options */
    const char *value; /* NULL: a flag */
  } renamed[MAFAT_RENAMED_MOST]; /* (n_renamed) given options that are words of a search now */
  int n_renamed;
  char note[MAFAT_SEARCH_ROOM + 200]; /* tells the user how to write these options now; "": none */
};

/* Names of environment variables. */
#define ENVIRONMENT(id, variable) extern const char mafat_variable_##id[sizeof variable];
#include "programs/shared/options.def"

void mafat_options_defaults(struct mafat_options *o, enum mafat_program program);
/* Parses the command line and opens the model's file. Strings in *o point into argv. Returns
 * MAFAT_OK, MAFAT_EINVAL (the message has the option and what it expects) or MAFAT_EIO (the model's
 * file cannot be opened). */
int mafat_options_read(struct mafat_options *o, int argc, char **argv, struct mafat_diagnostic *d);
/* Parses the options that only mafat_ranks or only mafat_serve has, and removes them from argv;
 * *argc gets smaller. Returns MAFAT_OK or MAFAT_EINVAL. */
int mafat_options_take_own(struct mafat_options *o, int *argc, char **argv,
                           struct mafat_diagnostic *d);
/* Sets the options of the library. */
void mafat_options_set(const struct mafat_options *o, struct mafat_model_options *m);

/* The value of a word of the search: "transfers" for the word "objective" if the search has
 * "objective=transfers"; "" for a flag; NULL: the word is not given. The value is in `text`. */
const char *mafat_options_search_word(const struct mafat_options *o, const char *word,
                                      char text[MAFAT_SEARCH_ROOM]);

/* Message for --input with a network that has no input besides the image. */
#define MAFAT_INPUT_AND_IMAGE "--input takes the place of images, found %.100s too"

/* True if all inputs are floats. */
static inline bool mafat_options_floats_only(const struct mafat_options *o)
{
  return o->inputs.n && !o->n_images;
}

/* True if the inputs are frames of video. */
static inline bool mafat_options_video(const struct mafat_options *o)
{
  return o->video || o->camera;
}

/* Prints the help, with the most used options or with all. name: the program's name, as it was
 * called. */
void mafat_options_print_help(enum mafat_program program, const char *name, bool all);
/* Answers --help or --version and returns the exit status. */
int mafat_options_answer(const struct mafat_options *o, const char *name, const char *version);

#endif
