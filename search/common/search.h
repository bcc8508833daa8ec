/* A search: a struct of properties and functions, listed in search/searches.c, and its parameters,
 * called words: "beam=8,delta=1.05". Each search defines them in its own file; other code reaches
 * them only through this struct. Included by search/. Parsing words allocates nothing. */
#ifndef MAFAT_SEARCH_COMMON_SEARCH_H
#define MAFAT_SEARCH_COMMON_SEARCH_H

#include "include/mafat_plan.h"
#include "search/common/front.h"

/* An initializer of an array of mafat_search_word, at index `id`. Parameters: see
 * struct mafat_search_word (include/mafat_plan.h); type: COUNT for MAFAT_WORD_COUNT. */
#define MAFAT_SEARCH_WORD(id, name, type, value, usual, least, most, help) \
  [id] = {name, MAFAT_WORD_##type, value, usual, least, most, help}

/* Value of a word: as given, or its default. */
struct mafat_search_value {
  bool given;       /* false: the other members are the default */
  double number;    /* of COUNT, NUMBER and SIZE */
  int choice;       /* index in the word's list of choices */
  size_t bytes;     /* of SIZE */
  const char *text; /* (length) of all types; points into the parsed text; NULL: no value */
  size_t length;
};

struct mafat_search {
  const char *name;  /* "best" */
  const char *finds; /* goal of its plan, for a table: "the best that is found" */
  /* why no plan fits, appended to the message: "no plan was found that needs less" */
  const char *unfit;
  const char *help;  /* lines of --help */
  bool one_plan;     /* finds the same plan for all budgets, so comparing budgets is useless */
  bool timed;        /* supports request->plan_seconds */
  const char *timed_by; /* word that enables request->timer; NULL: none */
  const struct mafat_search_word *words; /* (n_words) */
  int n_words;
  /* Finds the front of a request; the caller closes it. NULL: use `pick`. Returns errors as
   * mafat_search_front (search/best/best.h). */
  int (*find)(struct mafat_front **out, const struct mafat_search_request *request,
              struct mafat_diagnostic *d);
  /* Finds one plan for a budget with the MAFAT paper's predictor; the caller closes *out. NULL if
   * `find` is set. */
  int (*pick)(struct mafat_spec **out, const struct mafat_search_request *request,
              size_t budget_bytes, struct mafat_diagnostic *d);
};

/* Parses words into values[0 ... search->n_words - 1]. text NULL or "": defaults. Returns MAFAT_OK
 * or MAFAT_EINVAL; the message names the word and its valid values, or lists the words. */
int mafat_search_words_read(struct mafat_search_value *values, const struct mafat_search *search,
                            const char *text, struct mafat_diagnostic *d);

/* True if the words contain search->timed_by: plans are to be timed by running them. */
bool mafat_search_is_timed(const struct mafat_search *search, const char *text);

enum { MAFAT_MOST_SEARCH_WORDS = 16 };

#endif
