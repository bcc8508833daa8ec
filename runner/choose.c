#include "runner/choose.h"

#include "search/greedy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Plan and layout of a text, and what they cost. */
static int take(struct mafat_choice *c, const struct mafat_choice_request *r, const char *text,
                struct mafat_diagnostic *d)
{
  const struct mafat_search_request *s = &r->search;
  int code = mafat_plan_read(&c->plan, text, s->network, s->n_layers, s->options, d);
  if (code == MAFAT_OK) code = mafat_layout_make(&c->layout, s->network, c->plan, d);
  if (code) return code;
  mafat_predict(&c->prediction, c->layout, s->around);
  if (mafat_plan_write(c->plan, c->text, sizeof c->text) >= sizeof c->text)
    strcpy(c->text + sizeof c->text - 4, "...");
  c->fits = c->prediction.charge_bytes <= r->budget_bytes;
  code = mafat_latency_predict(&c->latency, s->network, c->plan, c->layout, s->calibration);
  return code ? mafat_fail(d, code, "%s: out of memory", s->network->path) : MAFAT_OK;
}

static int take_best(struct mafat_choice *c, const struct mafat_choice_request *r, struct mafat_diagnostic *d)
{
  struct mafat_front *front;
  int code = mafat_search_front(&front, &r->search, d);
  if (code) return code;
  const struct mafat_candidate *found = mafat_front_within(front, r->budget_bytes);
  /* The front goes first: what stays of the heap lies where it was. */
  char *text = strdup(found ? found->text : front->list[0].text);
  mafat_front_close(&front);
  code = text ? take(c, r, text, d) : mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", r->search.network->path);
  free(text);
  return code;
}

static int take_greedy(struct mafat_choice *c, const struct mafat_choice_request *r, struct mafat_diagnostic *d)
{
  struct mafat_greedy_choice greedy;
  int code = mafat_search_greedy(&greedy, r->search.network, r->search.n_layers, r->budget_bytes, r->bias_bytes, d);
  return code ? code : take(c, r, greedy.text, d);
}

int mafat_choose(struct mafat_choice *c, const struct mafat_choice_request *r, struct mafat_diagnostic *d)
{
  memset(c, 0, sizeof *c);
  int code = r->plan ? take(c, r, r->plan, d) : r->greedy ? take_greedy(c, r, d) : take_best(c, r, d);
  if (code || c->fits || r->best_effort) return code;
  return mafat_fail(d, MAFAT_ELIMIT, "does not fit: plan %.80s needs %zu bytes, the budget (%s) is %zu bytes%s",
                    c->text, c->prediction.charge_bytes, r->budget_source, r->budget_bytes,
                    r->plan || r->greedy ? "" : "; no plan needs less");
}

void mafat_choice_close(struct mafat_choice *c)
{
  mafat_layout_close(&c->layout);
  mafat_plan_close(&c->plan);
}
