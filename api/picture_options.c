/* Sets how pictures are converted to the input (pixel values, channels, resizing, padding): by the
 * caller's options, the options that a packed file stores, the declarations of the model file, and
 * what is usual for the head. Called by picture.c. A separate file, so that its code is not
 * resident for networks from cfg files. Touches only its arguments. */
#include "api/picture.h"

#include "runner/detect/heads/head.h"

#include <math.h>
#include <string.h>

static int take_numbers(float *to, const float *numbers, int n, const char *what,
                        struct mafat_diagnostic *d)
{
  for (int c = 0; c < n; c++) {
    if (!isfinite(numbers[c]))
      return mafat_fail(d, MAFAT_EINVAL, "expected a %s of finite numbers, found %g", what,
                        (double)numbers[c]);
    to[c] = numbers[c];
  }
  return MAFAT_OK;
}

static int take_normalization(struct mafat_picture *p,
                              const struct mafat_picture_declared *declared,
                              const struct mafat_model_options *o, struct mafat_diagnostic *d)
{
  int n = p->input.c == 1 ? 1 : 3, code = MAFAT_OK;
  if (declared->normalized) {
    memcpy(p->rule.mean, declared->mean, sizeof p->rule.mean);
    memcpy(p->rule.scale, declared->scale, sizeof p->rule.scale);
    p->source = mafat_picture_sources.file;
  }
  if (o->mean) code = take_numbers(p->rule.mean, o->mean, n, "mean", d);
  if (code == MAFAT_OK && o->scale) code = take_numbers(p->rule.scale, o->scale, n, "scale", d);
  for (int c = 0; c < n && code == MAFAT_OK; c++)
    if (!mafat_picture_is_finite(p->rule.mean[c], p->rule.scale[c]))
      code = mafat_fail(
          d, MAFAT_EINVAL,
          "expected a mean and a scale that give finite numbers for bytes, found %g and %g",
          (double)p->rule.mean[c], (double)p->rule.scale[c]);
  return code;
}

static int take_channels(struct mafat_picture *p, const struct mafat_network *n,
                         const char *channels, struct mafat_diagnostic *d)
{
  if (n->picture.ordered) p->rule.swapped = p->input.c == 3 && n->picture.swapped;
  if (!channels) return MAFAT_OK;
  bool gray = strcmp(channels, "gray") == 0, bgr = strcmp(channels, "bgr") == 0;
  if (!gray && !bgr && strcmp(channels, "rgb") != 0)
    return mafat_fail(d, MAFAT_EINVAL,
                      "expected channels of pictures (rgb, bgr, gray), found %.60s", channels);
  if (p->input.c != (gray ? 1 : 3))
    return mafat_fail(d, MAFAT_EINVAL,
                      "%s: expected an input of %d channel%s for channels %s, found %d", n->path,
                      gray ? 1 : 3, gray ? "" : "s", channels, p->input.c);
  p->rule.swapped = bgr;
  return MAFAT_OK;
}

static int take_fit(struct mafat_picture *p, const char *resize, struct mafat_diagnostic *d)
{
  static const struct {
    const char *name;
    enum mafat_fit fit;
  } fits[] = {{"stretch", MAFAT_FIT_STRETCH},
              {"letterbox", MAFAT_FIT_LETTERBOX},
              {"corner", MAFAT_FIT_CORNER},
              {"crop", MAFAT_FIT_CROP}};
  if (!resize) return MAFAT_OK;
  for (size_t i = 0; i < sizeof fits / sizeof *fits; i++)
    if (strcmp(resize, fits[i].name) == 0) {
      p->input.fit = fits[i].fit;
      return MAFAT_OK;
    }
  return mafat_fail(
      d, MAFAT_EINVAL,
      "expected a way to resize pictures (stretch, letterbox, corner, crop), found %.60s", resize);
}

static int take_pad(struct mafat_picture *p, const struct mafat_network *n, const float *pad,
                    struct mafat_diagnostic *d)
{
  if (!p->assumed && n->format.pad > 0) p->rule.pad = n->format.pad;
  if (!pad) return MAFAT_OK;
  if (!(*pad >= 0) || !(*pad <= 255))
    return mafat_fail(d, MAFAT_EINVAL, "expected a pad from 0 to 255, found %g", (double)*pad);
  p->rule.pad = *pad;
  return MAFAT_OK;
}

/* Returns the caller's options; an option that the caller did not give is taken from the packed
 * file. The result points into `s`. */
static struct mafat_model_options with_stored(const struct mafat_model_options *o,
                                              const struct mafat_stored_options *s)
{
  struct mafat_model_options all = *o;
  if (!o->mean && s->numbers & MAFAT_STORED_MEAN) all.mean = s->mean;
  if (!o->scale && s->numbers & MAFAT_STORED_SCALE) all.scale = s->scale;
  if (!o->pad && s->numbers & MAFAT_STORED_PAD) all.pad = &s->pad;
  if (!o->channels && *s->channels) all.channels = s->channels;
  if (!o->resize && *s->resize) all.resize = s->resize;
  return all;
}

/* Sets the preprocessing that is usual for the head, unless the options and the model file give
 * every value. */
static void assume_usual(struct mafat_picture *p, const struct mafat_network *n,
                         const struct mafat_model_options *o)
{
  const struct mafat_outputs_head *head = n->decoded.head;
  bool normalized = n->picture.normalized || (o->mean && o->scale),
       ordered = n->picture.ordered || o->channels || p->input.c != 3;
  if (!head || !head->usual || (normalized && ordered && o->resize)) return;
  p->assumed = head->name;
  p->rule = head->usual->rule;
  p->rule.swapped = p->rule.swapped && p->input.c == 3;
  p->input.fit = head->usual->fit;
  p->source = mafat_picture_sources.head;
}

int mafat_picture_follow(struct mafat_picture *p, const struct mafat_network *n,
                         const struct mafat_model_options *given, struct mafat_diagnostic *d)
{
  const struct mafat_model_options all = with_stored(given, &n->stored), *o = &all;
  assume_usual(p, n, o);
  int code = take_normalization(p, &n->picture, o, d);
  if (code == MAFAT_OK) code = take_channels(p, n, o->channels, d);
  if (code == MAFAT_OK) code = take_fit(p, o->resize, d);
  if (code == MAFAT_OK) code = take_pad(p, n, o->pad, d);
  if (o->mean || o->scale)
    p->source = given->mean || given->scale ? mafat_picture_sources.options
                                            : mafat_picture_sources.file;
  p->input.rule = &p->rule;
  return code;
}
