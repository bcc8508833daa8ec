/* Head "classes": decodes classes of the whole picture from an output with a score for each class.
 * Scores are probabilities, or logits, to which it applies a softmax. Called by
 * runner/detect/detect.c and heads.c through the table in heads.c. Reads the output through struct
 * mafat_decoding; allocates nothing. */
#include "runner/detect/heads/head.h"

#include <limits.h>
#include <math.h>

enum { PART = 64 }; /* scores that are read at a time */

/* If the output has as many elements as the input, it is probably a picture, so --decode auto does
 * not choose this head. */
static bool fits(const struct mafat_head_shapes *s, struct mafat_decoded *found)
{
  if (s->n != 1 || s->list[0].n < 2 || s->list[0].n > INT_MAX) return false;
  for (int i = 0; i < s->list[0].rank; i++)
    if (s->list[0].dims[i] != 1 && (size_t)s->list[0].dims[i] != s->list[0].n) return false;
  *found =
      (struct mafat_decoded){.classes = (int)s->list[0].n, .declared = s->list[0].n != s->in_n};
  return true;
}

/* Numbers computed from all scores. */
struct numbers {
  double sum, largest, exponentials; /* exponentials: the sum of exp(score - largest) */
  bool shares;                       /* all scores are in 0 ... 1 */
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

/* If all scores are in 0 ... 1 and their sum is 1, they are probabilities; else they are logits. */
static void classify(const struct mafat_decoding *d, struct mafat_class_score *top, int k,
                     int *n_top)
{
  enum { OFF = 100 }; /* the sum may differ from 1 by 1 / OFF, because of rounding */
  struct numbers all = {.largest = -HUGE_VAL, .shares = true};
  float part[PART];
  for (int c = 0, n, classes = d->decoded->classes; c < classes; c += n) {
    n = classes - c < PART ? classes - c : PART;
    mafat_decoding_read(d, 0, c, n, part);
    add_up(&all, part, n);
    for (int i = 0; i < n; i++)
      if (isfinite(part[i]))
        mafat_class_scores_insert(top, k, n_top, (struct mafat_class_score){c + i, part[i]});
  }
  if (all.shares && fabs(all.sum - 1) * OFF <= 1) return;
  for (int i = 0; i < *n_top; i++)
    top[i].confidence = (float)(exp((double)top[i].confidence - all.largest) / all.exponentials);
}

const struct mafat_outputs_head mafat_head_classes = {.name = "classes",
                                                      .fits = fits,
                                                      .classify = classify,
                                                      .expects =
                                                          "one output of a number for each class"};
