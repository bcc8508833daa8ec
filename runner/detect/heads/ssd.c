/* Head "ssd": decodes the outputs of TFLite_Detection_PostProcess and similar operators: corners of
 * boxes (top, left, bottom, right) in fractions of the input; classes; scores in descending order;
 * number of boxes. The operator has already applied its own threshold and suppression. Called by
 * runner/detect/detect.c and heads.c through the table in heads.c. Reads the outputs and reports
 * boxes through decoding.h; allocates nothing. */
#include "runner/detect/heads/head.h"

enum { BOXES, CLASSES, SCORES, COUNT };

static bool fits(const struct mafat_head_shapes *s, struct mafat_decoded *found)
{
  static const int64_t boxes[] = {1, -1, 4}, count[] = {1};
  if (s->n != 4 || !mafat_head_has(s, BOXES, 3, boxes)) return false;
  int64_t n = s->list[BOXES].dims[1];
  const int64_t list[] = {1, n};
  bool lists = mafat_head_has(s, CLASSES, 2, list) && mafat_head_has(s, SCORES, 2, list);
  if (!lists || !mafat_head_has(s, COUNT, 1, count)) return false;
  *found = (struct mafat_decoded){
      .boxes = (uint64_t)n, .classes = 1, .best = true, .declared = true, .outputs = {0, 1, 2, 3}};
  return true;
}

static void decode(struct mafat_decoding *d)
{
  float count;
  mafat_decoding_read(d, COUNT, 0, 1, &count);
  for (uint32_t number = 0; number < d->decoded->boxes && (float)number < count; number++) {
    float v[4], class, score;
    mafat_decoding_read(d, BOXES, 4 * (long long)number, 4, v);
    mafat_decoding_read(d, CLASSES, number, 1, &class);
    mafat_decoding_read(d, SCORES, number, 1, &score);
    if (class >= 0 && class < 1e6f && mafat_head_corners(d, number, v[1], v[0], v[3], v[2]))
      mafat_decoding_class(d, (int)class, score);
  }
}

static const struct mafat_usual_picture usual = {
    .rule = {.mean = {127.5f, 127.5f, 127.5f}, .scale = {1 / 127.5f, 1 / 127.5f, 1 / 127.5f},
             .pad = 114},
    .fit = MAFAT_FIT_STRETCH};

const struct mafat_outputs_head mafat_head_ssd = {
    .name = "ssd", .fits = fits, .usual = &usual, .decode = decode,
    .expects = "four outputs [1, boxes, 4], [1, boxes], [1, boxes] and [1]"};
