/* A search as a row of the table (search/searches.c), and the words that it takes: "beam=8,delta=1.05". A search's own file has its row
 * and its words; nothing else names them. */
#ifndef MAFAT_SEARCH_COMMON_SEARCH_H
#define MAFAT_SEARCH_COMMON_SEARCH_H

#include "include/mafat_plan.h"
#include "search/common/front.h"

/* A row of a search's words, of which it has a constant id: #define WORD MAFAT_SEARCH_WORD; WORD(BEAM, "beam", COUNT, ...) */
#define MAFAT_SEARCH_WORD(id, name, type, value, usual, least, most, help) \
  [id] = {name, MAFAT_WORD_##type, value, usual, least, most, help}

/* The value of a word, or its usual one. */
struct mafat_search_value {
  bool given;
  double number;    /* of a count, too */
  int choice;       /* 0: the first */
  size_t bytes;
  const char *text; /* (length), in what was read; NULL: neither given nor usual */
  size_t length;
};

struct mafat_search {
  const char *name;  /* "best" */
  const char *finds; /* what its plan is, for a table: "the best that is found" */
  const char *unfit; /* said behind a plan that does not fit: why no other is taken */
  const char *help;  /* lines of --help */
  bool one_plan;     /* the same for all budgets: there is nothing to list or to sweep */
  bool timed;        /* looks on, or stops, as request->plan_seconds says */
  const char *timed_by; /* word with which plans are timed by request->timer; NULL: none */
  const struct mafat_search_word *words; /* (n_words) */
  int n_words;
  /* The front of the request, alone in a heap of its own. NULL: `pick`. Errors: best.h. */
  int (*find)(struct mafat_front **out, const struct mafat_search_request *request, struct mafat_diagnostic *d);
  /* Or one plan for a budget, by the paper's predictor. */
  int (*pick)(struct mafat_spec **out, const struct mafat_search_request *request, size_t budget_bytes, struct mafat_diagnostic *d);
};

/* values: (search->n_words). text: NULL or "": all as usual. MAFAT_EINVAL: the message names the word and what it expects, or lists the
 * words that there are. */
int mafat_search_words_read(struct mafat_search_value *values, const struct mafat_search *search, const char *text,
                            struct mafat_diagnostic *d);

/* Do good words ask for plans to be timed by running them? */
bool mafat_search_is_timed(const struct mafat_search *search, const char *text);

enum { MAFAT_MOST_SEARCH_WORDS = 16 };

#endif
