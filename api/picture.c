/* Chooses the conversion of pictures to the input. Called by api/model.c, api/dry_run.c and
 * api/packing (observe.c, pack.c). Touches only its arguments. */
#include "api/picture.h"

#include "api/footprint.h"
#include "runner/detect/heads/head.h"

static const struct mafat_pixel_rule darknets = {.scale = {1 / 255.f, 1 / 255.f, 1 / 255.f},
                                                 .pad = 127.5f};

const struct mafat_picture_sources mafat_picture_sources = {"options", "file", "head"};

static bool is_darknets(const struct mafat_network *n, const struct mafat_model_options *o)
{
  bool usual = n->decoded.head && n->decoded.head->usual;
  return !usual && !(n->format.pad > 0) && !mafat_stored_any(&n->stored) && !o->mean &&
         !o->scale && !o->channels && !o->resize && !o->pad;
}

int mafat_picture_make(struct mafat_picture *p, const struct mafat_network *n,
                       const struct mafat_model_options *o, const struct mafat_kernels *kernels,
                       struct mafat_diagnostic *d)
{
  *p = (struct mafat_picture){
      .input = mafat_footprint_usual_input(n), .rule = darknets, .source = "default"};
  p->input.kernels = kernels;
  if (!mafat_image_find_scaling(&p->input.shrinks, o->image_scaling))
    return mafat_fail(d, MAFAT_EINVAL, "expected a scaling of pictures (exact, fast), found %.60s",
                      o->image_scaling);
  return is_darknets(n, o) ? MAFAT_OK : mafat_picture_follow(p, n, o, d);
}
