#include "runner/layers/tensors.h"

struct mafat_runs mafat_runs_of(const struct mafat_sources *sources, struct mafat_span channels)
{
  struct mafat_runs r = {.sources = sources, .channel = channels.begin, .end = channels.end};
  int skip = channels.begin;
  while (r.source < sources->n && skip >= sources->list[r.source].n)
    skip -= sources->list[r.source++].n;
  r.taken = skip;
  return r;
}

bool mafat_runs_next(struct mafat_runs *r, struct mafat_run *run)
{
  if (r->channel >= r->end || r->source >= r->sources->n) return false;
  const struct mafat_source *s = &r->sources->list[r->source];
  int in = s->first + r->taken, lane = in % MAFAT_CHANNEL_BLOCK;
  int out_lane = r->channel % MAFAT_CHANNEL_BLOCK;
  int n = mafat_min(s->n - r->taken, r->end - r->channel);
  n = mafat_min(n, MAFAT_CHANNEL_BLOCK - (lane > out_lane ? lane : out_lane));
  *run = (struct mafat_run){s->tensor, in / MAFAT_CHANNEL_BLOCK, lane,
                            r->channel / MAFAT_CHANNEL_BLOCK, out_lane, n};
  r->channel += n;
  r->taken += n;
  if (r->taken == s->n) {
    r->source++;
    r->taken = 0;
  }
  return true;
}
