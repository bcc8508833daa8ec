/* A search: a struct of properties and functions. search/searches.c lists all searches, and other
 * code reaches them only through this struct. The parameters of a search are called words; the user
 * writes them as "beam=8,delta=1.05". Each search defines its words in its own file. Included by
 * search/. Parsing words allocates nothing. */
#ifndef MAFAT_SEARCH_COMMON_SEARCH_H
#define MAFAT_SEARCH_COMMON_SEARCH_H

#include "include/mafat_plan.h"
#include "search/common/front.h"

/* Initializer of element `id` of an array of struct mafat_search_word (include/mafat_plan.h). The
 * other parameters are its members; type: COUNT for MAFAT_WORD_COUNT etc. */
#define MAFAT_SEARCH_WORD(id, name, type, value, usual, least, most, help) \
  [id] = {name, MAFAT_WORD_##type, value, usual, least, most, help}

/* Value of a word. */
struct mafat_search_value {
  bool given;       /* the user gave the word; false: the other members are its default */
  double number;    /* value of a COUNT, NUMBER or SIZE */
  int choice;       /* value of a CHOICE: index in the word's list of choices */
  size_t bytes;     /* value of a SIZE */
  const char *text; /* (length) text of the value; points into the parsed text; NULL: no value */
  size_t length;
};

struct mafat_search {
  const char *name;  /* "best" */
  const char *finds; /* which plan it finds, for a table: "the best that is found" */
  /* end of the message that no plan fits: "no plan was found that needs less" */
  const char *unfit;
  const char *help;  /* lines of --help */
  bool one_plan;     /* finds the same plan for all budgets, so a table over budgets is useless */
  bool timed;        /* supports request->plan_seconds */
  const char *timed_by; /* word that enables request->timer; NULL: none */
  const struct mafat_search_word *words; /* (n_words) */
  int n_words;
  /* Finds the front of a request; the caller closes it. Returns as mafat_search_front does
   * (search/best/best.h). NULL: use `pick`. */
  int (*find)(struct mafat_front **out, const struct mafat_search_request *request,
              struct mafat_diagnostic *d);
  /* Finds one plan for a budget by the MAFAT paper's memory formula; the caller closes *out. NULL
   * if `find` is set. */
  int (*pick)(struct mafat_spec **out, const struct mafat_search_request *request,
              size_t budget_bytes, struct mafat_diagnostic *d);
};

/* Parses words into values[0 ... search->n_words - 1]. text NULL or "": all defaults. Returns
 * MAFAT_OK or MAFAT_EINVAL; the diagnostic names the word and its valid values or, for an unknown
 * word, lists the search's words. */
int mafat_search_words_read(struct mafat_search_value *values, const struct mafat_search *search,
                            const char *text, struct mafat_diagnostic *d);

/* True if the words contain search->timed_by: the search then runs plans to time them. */
bool mafat_search_is_timed(const struct mafat_search *search, const char *text);

enum { MAFAT_MOST_SEARCH_WORDS = 16 }; /* greatest number of words of a search */

#endif
