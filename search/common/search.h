/* A search as a row of the table (search/searches.c), and its parameters ("words"):
 * "beam=8,delta=1.05". Each search defines its row and words in its own file; other code does not
 * name them. Included by search/. Parsing words allocates nothing. */
#ifndef MAFAT_SEARCH_COMMON_SEARCH_H
#define MAFAT_SEARCH_COMMON_SEARCH_H

#include "include/mafat_plan.h"
#include "search/common/front.h"

/* A row of a search's words, at the word's constant id: #define WORD MAFAT_SEARCH_WORD; WORD(BEAM,
 * "beam", COUNT, ...) */
#define MAFAT_SEARCH_WORD(id, name, type, value, usual, least, most, help) \
  [id] = {name, MAFAT_WORD_##type, value, usual, least, most, help}

/* Value of a word: given, or its default. */
struct mafat_search_value {
  bool given;
  double number;    /* of COUNT, too */
  int choice;       /* index; 0: the first */
  size_t bytes;
  const char *text; /* (length) in the parsed text; NULL: neither given nor a default */
  size_t length;
};

struct mafat_search {
  const char *name;  /* "best" */
  const char *finds; /* goal of its plan, for a table: "the best that is found" */
  /* appended to the message of a plan that does not fit: why there is no other */
  const char *unfit;
  const char *help;  /* lines of --help */
  bool one_plan;     /* same plan for all budgets, so budgets cannot be compared */
  bool timed;        /* supports request->plan_seconds */
  const char *timed_by; /* word that enables request->timer; NULL: none */
  const struct mafat_search_word *words; /* (n_words) */
  int n_words;
  /* Finds the front of a request, in a heap of its own. NULL: use `pick`. Errors: see
   * search/best/best.h. */
  int (*find)(struct mafat_front **out, const struct mafat_search_request *request,
              struct mafat_diagnostic *d);
  /* Finds one plan for a budget, by the paper's predictor. */
  int (*pick)(struct mafat_spec **out, const struct mafat_search_request *request,
              size_t budget_bytes, struct mafat_diagnostic *d);
};

/* Parses words into values (search->n_words). text NULL or "": defaults. MAFAT_EINVAL: the message
 * names the word and its valid values, or lists the words. */
int mafat_search_words_read(struct mafat_search_value *values, const struct mafat_search *search,
                            const char *text, struct mafat_diagnostic *d);

/* True if these valid words ask for plans to be timed by running them. */
bool mafat_search_is_timed(const struct mafat_search *search, const char *text);

enum { MAFAT_MOST_SEARCH_WORDS = 16 };

#endif
