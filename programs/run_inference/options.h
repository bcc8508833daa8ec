/* Command line of run_inference, mafat_serve and mafat_ranks, parsed into one struct. Included by
 * programs/mafat_serve and programs/run_inference. */
#ifndef MAFAT_PROGRAM_OPTIONS_H
#define MAFAT_PROGRAM_OPTIONS_H

#include "include/mafat_file.h"
#include "programs/shared/option.h"

#include <string.h>

#define OPTIONS_OF_RUN

/* Which of the three it is. */
enum mafat_program { MAFAT_RUN_INFERENCE = 1, MAFAT_SERVE = 2, MAFAT_RANKS = 4 };

enum { MAFAT_SEARCH_ROOM = 512, MAFAT_RENAMED_MOST = 16 };

struct mafat_options {
#include "programs/shared/option_members.h"
  enum mafat_program program;
  const char *cfg, *weights; /* NULL: left out, with --predict */
  struct mafat_file model; /* the file that is given as cfg */
  char **images;          /* the rest of the command line; "-" reads a list from stdin */
  int n_images;
  bool paper;             /* --predictor paper */
  const char *share; /* --search, of those that share layers out to ranks; NULL: deeperthings */
  char search_text[MAFAT_SEARCH_ROOM];    /* of `search`, once all is read: of one device, with its
                                             words; NULL there: best */
  char objective_text[MAFAT_SEARCH_ROOM]; /* of `objective`, which is the search's where no plan is
                                             given */
  bool renamed_FLAG;      /* what options that are words of a search now are read into */
  const char *renamed_TEXT;
  struct {
    int row;
    const char *value;
  } renamed[MAFAT_RENAMED_MOST]; /* (n_renamed), NULL: a flag */
  int n_renamed;
  char note[MAFAT_SEARCH_ROOM + 200]; /* how they are written; "": there are none */
};

/* Names of environment variables. */
#define ENVIRONMENT(id, variable) extern const char mafat_variable_##id[sizeof variable];
#include "programs/shared/options.def"

void mafat_options_defaults(struct mafat_options *o, enum mafat_program program);
/* MAFAT_EINVAL with the option and what it expects. Points into argv. */
int mafat_options_read(struct mafat_options *o, int argc, char **argv, struct mafat_diagnostic *d);
/* Options of mafat_ranks or mafat_serve alone, out of the arguments. MAFAT_EINVAL. */
int mafat_options_take_own(struct mafat_options *o, int *argc, char **argv,
                           struct mafat_diagnostic *d);
/* Sets the options of the library. */
void mafat_options_set(const struct mafat_options *o, struct mafat_model_options *m);

/* A word of the search, as "transfers" of "objective"; "" of a flag; NULL: it is not given. */
const char *mafat_options_search_word(const struct mafat_options *o, const char *word,
                                      char text[MAFAT_SEARCH_ROOM]);

/* Message for --input with a network that has no input besides the image. */
#define MAFAT_INPUT_AND_IMAGE "--input takes the place of images, found %.100s too"

/* Are its inputs floats, all of them? */
static inline bool mafat_options_floats_only(const struct mafat_options *o)
{
  return o->inputs.n && !o->n_images;
}

/* Are its inputs frames of video? */
static inline bool mafat_options_video(const struct mafat_options *o)
{
  return o->video || o->camera;
}

/* Prints the help: the options that people use most, or all. name: of the program, as it was
 * called. */
void mafat_options_print_help(enum mafat_program program, const char *name, bool all);
/* Answers --help or --version and returns the exit status. */
int mafat_options_answer(const struct mafat_options *o, const char *name, const char *version);

#endif
