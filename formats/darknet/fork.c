/* Detects the Darknet fork of a cfg by sections, keys and activations that only AlexeyAB's fork
 * reads. Converts forks to their names and back. Called by formats/darknet/darknet.c,
 * formats/packed/index.c and api/. Pure functions. */
#include "formats/darknet/fork.h"

#include "base/part.h"

#include <stdio.h>
#include <string.h>

/* ---- words that only AlexeyAB's parser reads, not pjreddie's (Debian: 0.0.0+git20180914) ---- */

typedef const char *const words[];

static words own_sections = {
    "Gaussian_yolo", "contrastive", "conv_lstm", "empty", "history", "implicit", "local_avg",
    "local_avgpool", "reorg3d", "sam", "scale_channels", "silence", NULL};
static words own_activations = {
    "gelu", "hard_mish", "mish", "normalize_channels", "normalize_channels_softmax",
    "normalize_channels_softmax_maxval", "relu6", "revleaky", "swish", NULL};

static words any_keys = {"burnin_update", "dont_update", "show_receptive_field", "train_only_bn",
                         NULL};
static words net_keys = {
    "adversarial_lr", "attention", "augment_speed", "badlabels_rejection_percentage", "blur",
    "contrastive", "contrastive_color", "contrastive_jit_flip", "cutmix", "dynamic_minibatch",
    "ema_alpha", "equidistant_point", "flip", "gaussian_noise", "label_smooth_eps",
    "learning_rate_min", "loss_scale", "max_chart_loss", "mixup", "mosaic", "mosaic_bound",
    "num_sigmas_reject_badlabels", "optimized_memory", "resize_step", "seq_scales",
    "sequential_subdivisions", "sgdr_cycle", "sgdr_mult", "track", "try_fix_nan", "unsupervised",
    "use_cuda_graph", "weights_reject_freq", "workspace_size_limit_MB", NULL};
static words convolutional_keys = {
    "angle",      "antialiasing", "assisted_excitation", "bin_output", "cbn",          "coordconv",
    "deform",     "dilation",     "grad_centr", "rotate",     "share_index",  "stream",
    "stretch",    "stretch_sway", "stride_x", "stride_y",   "sway",         "wait_stream", NULL};
static words maxpool_keys = {
    "antialiasing", "maxpool_depth", "maxpool_zero_nonmax", "out_channels", "stride_x", "stride_y",
    NULL};
static words dropout_keys = {"dropblock", "dropblock_size_abs", "dropblock_size_rel", NULL};
static words route_keys = {"group_id", "groups", "stream", "wait_stream", NULL};
static words shortcut_keys = {"weights_normalization", "weights_type", NULL};
static words region_keys = {"focal_loss", "resize", NULL};
static words detection_keys = {"resize", NULL};
static words yolo_keys = {
    "beta_nms", "cls_normalizer", "counters_per_class", "delta_normalizer", "dets_for_show",
    "dets_for_track", "embedding_layer", "focal_loss", "iou_loss", "iou_normalizer", "iou_thresh",
    "iou_thresh_kind", "label_smooth_eps", "max_delta", "new_coords", "nms_kind", "obj_normalizer",
    "objectness_smooth", "resize", "scale_x_y", "show_details", "sim_thresh", "track_ciou_norm",
    "track_history_size", NULL};

static const struct {
  const char *section;
  const char *const *keys;
} own_keys[] = {
    {"net", net_keys},
    {"network", net_keys},
    {"convolutional", convolutional_keys},
    {"conv", convolutional_keys},
    {"maxpool", maxpool_keys},
    {"max", maxpool_keys},
    {"dropout", dropout_keys},
    {"route", route_keys},
    {"shortcut", shortcut_keys},
    {"region", region_keys},
    {"detection", detection_keys},
    {"yolo", yolo_keys},
};

MAFAT_PART(opening) static bool is_among(const char *word, const char *const *list)
{
  while (*list && strcmp(word, *list) != 0) list++;
  return *list != NULL;
}

static bool is_own_option(const char *section, const struct mafat_cfg_option *o)
{
  if (strcmp(o->key, "activation") == 0) return is_among(o->value, own_activations);
  /* from= with a list: pjreddie's Darknet uses only the first layer. */
  if (strcmp(section, "shortcut") == 0 && strcmp(o->key, "from") == 0)
    return strchr(o->value, ',') != NULL;
  for (size_t i = 0; i < sizeof own_keys / sizeof *own_keys; i++)
    if (strcmp(section, own_keys[i].section) == 0 && is_among(o->key, own_keys[i].keys))
      return true;
  return is_among(o->key, any_keys);
}

static bool find_sign(const struct mafat_cfg_section *s, char *sign, size_t capacity)
{
  if (is_among(s->type, own_sections)) {
    snprintf(sign, capacity, "line %d: [%.40s]", s->line, s->type);
    return true;
  }
  for (int i = 0; i < s->n_options; i++) {
    const struct mafat_cfg_option *o = &s->options[i];
    if (!is_own_option(s->type, o)) continue;
    snprintf(sign, capacity, "line %d: %.30s=%.30s in [%.20s]", o->line, o->key, o->value, s->type);
    return true;
  }
  return false;
}

MAFAT_PART(opening)
enum mafat_fork mafat_fork_decide(const struct mafat_cfg *cfg, char *sign, size_t capacity)
{
  *sign = '\0';
  for (int i = 0; i < cfg->n_sections; i++)
    if (find_sign(&cfg->sections[i], sign, capacity)) return MAFAT_FORK_ALEXEYAB;
  return MAFAT_FORK_DARKNET;
}

/* ---- names ---- */

/* in the order of enum mafat_fork */
static const char *const names[] = {"auto", "darknet", "alexeyab"};

const char *mafat_fork_name(enum mafat_fork fork)
{
  return names[fork];
}

int mafat_fork_find(enum mafat_fork *fork, const char *name, struct mafat_diagnostic *d)
{
  *fork = MAFAT_FORK_AUTO;
  if (!name) return MAFAT_OK;
  for (int i = MAFAT_FORK_AUTO; i <= MAFAT_FORK_ALEXEYAB; i++)
    if (strcmp(name, names[i]) == 0) {
      *fork = (enum mafat_fork)i;
      return MAFAT_OK;
    }
  return mafat_fail(d, MAFAT_EINVAL,
                    "expected a fork of Darknet (auto, darknet, alexeyab), found %.60s", name);
}
