/* One number for each class of the whole picture: how likely it is, or what a softmax makes that of. */
#include "runner/detect/heads/head.h"

#include <limits.h>
#include <math.h>

enum { PART = 64 };

/* As many numbers as the input has are no classes, but the input once more. */
static bool fits(const struct mafat_head_shapes *s, struct mafat_decoded *found)
{
  if (s->n != 1 || s->list[0].n < 2 || s->list[0].n > INT_MAX) return false;
  for (int i = 0; i < s->list[0].rank; i++)
    if (s->list[0].dims[i] != 1 && (size_t)s->list[0].dims[i] != s->list[0].n) return false;
  *found = (struct mafat_decoded){.classes = (int)s->list[0].n, .told = s->list[0].n != s->in_n};
  return true;
}

struct numbers {
  double sum, largest, exponentials; /* of these: of what is less the largest */
  bool shares;
};

static void add_up(struct numbers *all, const float *part, int n)
{
  for (int i = 0; i < n; i++) {
    double x = (double)part[i];
    if (!isfinite(x)) continue;
    all->sum += x;
    if (x < 0 || x > 1) all->shares = false;
    if (x > all->largest) {
      all->exponentials *= exp(all->largest - x);
      all->largest = x;
    }
    all->exponentials += exp(x - all->largest);
  }
}

/* Numbers that are shares of 1 are likelihoods, and all others are what a softmax is made of. */
static void classify(const struct mafat_decoding *d, struct mafat_class_score *top, int k, int *n_top)
{
  enum { OFF = 100 }; /* of 1, at most: what rounding does to a sum */
  struct numbers all = {.largest = -HUGE_VAL, .shares = true};
  float part[PART];
  for (int c = 0, n, classes = d->decoded->classes; c < classes; c += n) {
    n = classes - c < PART ? classes - c : PART;
    mafat_decoding_read(d, 0, c, n, part);
    add_up(&all, part, n);
    for (int i = 0; i < n; i++)
      if (isfinite(part[i])) mafat_class_scores_insert(top, k, n_top, (struct mafat_class_score){c + i, part[i]});
  }
  if (all.shares && fabs(all.sum - 1) * OFF <= 1) return;
  for (int i = 0; i < *n_top; i++)
    top[i].confidence = (float)(exp((double)top[i].confidence - all.largest) / all.exponentials);
}

const struct mafat_outputs_head mafat_head_classes = {
    .name = "classes", .fits = fits, .classify = classify, .expects = "one output of a number for each class"};
