/* Head "ultraface": decodes Ultra-Light-Fast-Generic-Face-Detector, which has for each box the
 * probabilities of background and face, and its corners in fractions of the input. Called by
 * runner/detect/detect.c and heads.c through the table in heads.c. Reads the outputs and reports
 * boxes through decoding.h; allocates nothing. */
#include "runner/detect/heads/head.h"

enum { SCORES, BOXES };

static bool fits(const struct mafat_head_shapes *s, struct mafat_decoded *found)
{
  if (s->n != 2) return false;
  for (int i = 0; i < 2; i++) {
    int64_t n = s->list[i].rank == 3 ? s->list[i].dims[1] : 0;
    const int64_t scores[] = {1, n, 2}, boxes[] = {1, n, 4};
    if (n < 1 || !mafat_head_has(s, i, 3, scores) || !mafat_head_has(s, 1 - i, 3, boxes)) continue;
    *found = (struct mafat_decoded){
        .boxes = (uint64_t)n, .classes = 1, .declared = true, .outputs = {i, 1 - i}};
    return true;
  }
  return false;
}

static void decode(struct mafat_decoding *d)
{
  for (uint32_t number = 0; number < d->decoded->boxes; number++) {
    float score, v[4];
    mafat_decoding_read(d, SCORES, 2 * (long long)number + 1, 1, &score);
    if (!(score > d->thresh)) continue;
    mafat_decoding_read(d, BOXES, 4 * (long long)number, 4, v);
    if (mafat_head_corners(d, number, v[0], v[1], v[2], v[3])) mafat_decoding_class(d, 0, score);
  }
}

static const struct mafat_usual_picture usual = {
    .rule = {.mean = {127, 127, 127}, .scale = {1 / 128.f, 1 / 128.f, 1 / 128.f}, .pad = 114},
    .fit = MAFAT_FIT_STRETCH};

const struct mafat_outputs_head mafat_head_ultraface = {
    .name = "ultraface",
    .fits = fits,
    .usual = &usual,
    .decode = decode,
    .expects = "two outputs [1, boxes, 2] and [1, boxes, 4]"};
