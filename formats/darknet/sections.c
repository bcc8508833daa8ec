/* Reads the sections of a cfg: [net] and one function per kind of layer. Called by
 * formats/darknet/darknet.c. Allocates the layers' data, which mafat_network_close frees. */
#include "formats/darknet/sections.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* State of reading one section: the layer under construction, and the context of messages. */
struct section_reader {
  struct mafat_network *network;
  int index;
  struct mafat_layer *layer;
  const struct mafat_cfg *cfg;
  struct mafat_cfg_section *section;
  struct mafat_diagnostic *d;
};

static int get_int(struct section_reader *r, const char *key, int least, int most, int *value)
{
  return mafat_cfg_int(r->cfg, r->section, key, least, most, value, r->d);
}

static int get_bool(struct section_reader *r, const char *key, bool *value)
{
  int number = *value;
  int code = get_int(r, key, INT_MIN, INT_MAX, &number);
  *value = number != 0;
  return code;
}

static int get_float(struct section_reader *r, const char *key, float *value)
{
  return mafat_cfg_float(r->cfg, r->section, key, value, r->d);
}

static int fail_here(struct section_reader *r, int code, const char *what)
{
  return mafat_fail(r->d, code, "%s:%d: layer [%s] %s", r->cfg->path, r->section->line,
                    r->section->type, what);
}

/* Rejects keys that change results and that no kernel supports. */
static int refuse_keys(struct section_reader *r, const char *const *keys)
{
  for (; *keys; keys++) {
    const struct mafat_cfg_option *o = mafat_cfg_find(r->section, *keys);
    bool off = o && (strcmp(o->value, "0") == 0 || strcmp(o->value, "none") == 0);
    if (o && (!off || strcmp(o->key, "share_index") == 0)) /* share_index=0 is layer 0, not off */
      return mafat_fail(r->d, MAFAT_EUNSUPPORTED, "%s:%d: %s=%.60s in [%s] is not supported",
                        r->cfg->path, o->line, *keys, o->value, r->section->type);
  }
  return MAFAT_OK;
}

static int get_activation(struct section_reader *r, enum mafat_activation fallback)
{
  const struct mafat_cfg_option *o = mafat_cfg_find(r->section, "activation");
  r->layer->activation = mafat_activating(fallback);
  if (!o) return MAFAT_OK;
  for (int a = 0; a < MAFAT_N_DARKNET_ACTIVATIONS; a++)
    if (strcmp(o->value, mafat_activation_name((enum mafat_activation)a)) == 0) {
      r->layer->activation.kind = (enum mafat_activation)a;
      return MAFAT_OK;
    }
  return mafat_fail(r->d, MAFAT_EUNSUPPORTED, "%s:%d: activation [%.40s] is not supported",
                    r->cfg->path, o->line, o->value);
}

/* ---- edges ---- */

static int append_source(struct mafat_sources *to, struct mafat_source s)
{
  struct mafat_source *grown = realloc(to->list, (size_t)(to->n + 1) * sizeof *grown);
  if (!grown) return MAFAT_ENOMEM;
  grown[to->n++] = s;
  to->list = grown;
  return MAFAT_OK;
}

/* Adds an empty operand. */
static struct mafat_operand *append_operand(struct mafat_layer *l)
{
  struct mafat_operand *grown = realloc(l->operands, (size_t)(l->n_operands + 1) * sizeof *grown);
  if (!grown) return NULL;
  l->operands = grown;
  grown[l->n_operands] = (struct mafat_operand){.sources = {NULL, 0, 1}};
  return &grown[l->n_operands++];
}

/* Appends channels [first, first + n) of layer `index`'s output; operands of a cfg have a single
 * band. */
static int append_output(struct mafat_network *net, struct mafat_sources *to, int index, int first,
                         int n)
{
  struct mafat_source self;
  struct mafat_sources producer = mafat_network_output_sources(net, index, &self);
  int code = MAFAT_OK, position = 0;
  for (int i = 0; i < producer.n && code == MAFAT_OK; i++) {
    struct mafat_source s = producer.list[i];
    struct mafat_span wanted = {first - position, first + n - position};
    wanted = mafat_span_clip(wanted, s.n);
    position += s.n;
    if (!mafat_span_is_empty(wanted))
      code =
          append_source(to, (struct mafat_source){s.tensor, s.first + wanted.begin,
                                                  mafat_span_size(wanted), s.first_row, s.n_rows});
  }
  return code;
}

/* Adds an operand with the first n channels of layer `index`'s output, or all if it has fewer. */
static int connect(struct section_reader *r, int index, int n)
{
  struct mafat_operand *o = append_operand(r->layer);
  int code = MAFAT_ENOMEM;
  if (o) {
    o->shape = mafat_network_tensor_shape(r->network, index);
    code = append_output(r->network, &o->sources, index, 0, o->shape.c < n ? o->shape.c : n);
  }
  return code ? mafat_fail(r->d, code, "%s: out of memory", r->cfg->path) : MAFAT_OK;
}

/* Adds the default operand: the layer above, or the network's input. */
static int connect_to_previous(struct section_reader *r)
{
  return connect(r, mafat_network_above(r->network, r->index), INT_MAX);
}

/* Converts an absolute or relative layer number of the cfg to an index. */
static int resolve_index(struct section_reader *r, const char *key, int number, int *index)
{
  *index = number < 0 ? r->index + number : number;
  if (*index >= 0 && *index < r->index) return MAFAT_OK;
  return mafat_fail(r->d, MAFAT_EFORMAT,
                    "%s:%d: %s in layer %d [%s] expects an earlier layer, found %d", r->cfg->path,
                    r->section->line, key, r->index, r->section->type, number);
}

/* ---- one reader per kind of layer: operands and parameters ---- */

enum {
  MAX_WINDOW = 4096 /* limit of taps per side, strides and paddings */
};

/* Reads stride=, with stride_x= and stride_y= as overrides. */
static int get_strides(struct section_reader *r)
{
  struct mafat_window *w = &r->layer->window;
  int stride = 1, code = get_int(r, "stride", 1, MAX_WINDOW, &stride);
  if (code) return code;
  w->x.stride = w->y.stride = stride;
  if ((code = get_int(r, "stride_x", 1, MAX_WINDOW, &w->x.stride))) return code;
  return get_int(r, "stride_y", 1, MAX_WINDOW, &w->y.stride);
}

static int read_convolutional(struct section_reader *r)
{
  static const char *const refused[] = {
      "binary", "xnor", "flipped", "dot", "dontload", "numload", "dontloadscales", "antialiasing",
      "share_index", "assisted_excitation", "deform", "sway", "rotate", "stretch", "stretch_sway",
      "coordconv", "cbn", NULL};
  struct mafat_layer *l = r->layer;
  int size = 1, dilation = 1, padding = 0, pad = 0, code;
  l->filters = l->groups = 1;
  if ((code = refuse_keys(r, refused)) || (code = connect_to_previous(r)) ||
      (code = get_int(r, "filters", 1, MAFAT_MAX_EXTENT, &l->filters)) ||
      (code = get_int(r, "size", 1, MAX_WINDOW, &size)) ||
      (code = get_int(r, "padding", 0, MAX_WINDOW, &padding)) ||
      (code = get_int(r, "pad", 0, INT_MAX, &pad)) ||
      (code = get_int(r, "groups", 1, MAFAT_MAX_EXTENT, &l->groups)) ||
      (code = get_int(r, "dilation", 1, MAX_WINDOW, &dilation)) ||
      (code = get_bool(r, "batch_normalize", &l->batch_normalize)) ||
      (code = get_activation(r, MAFAT_LOGISTIC)))
    return code;
  if (size == 1) dilation = 1;
  if (pad) padding = size / 2;
  /* AlexeyAB's code dilates the padding, but computes the map's size without dilation. Its size and
   * ours agree only if the padding is half a window. */
  if (dilation > 1 && 2 * padding != size - 1)
    return fail_here(r, MAFAT_EUNSUPPORTED, "with dilation expects an odd size and pad=1");
  l->window = mafat_window_square(size, 1, padding * dilation);
  l->window.y.dilation = l->window.x.dilation = dilation;
  return get_strides(r);
}

/* Reads a pool. The default padding keeps the map's size if the stride is 1. */
static int read_pool(struct section_reader *r)
{
  int stride = 1, code;
  if ((code = connect_to_previous(r)) || (code = get_int(r, "stride", 1, MAX_WINDOW, &stride)))
    return code;
  int size = stride;
  if ((code = get_int(r, "size", 1, MAX_WINDOW, &size))) return code;
  int padding = size - 1; /* of both sides together */
  if ((code = get_int(r, "padding", 0, MAX_WINDOW, &padding))) return code;
  struct mafat_taps taps = {size, 1, 1, padding / 2, padding - padding / 2};
  r->layer->window = (struct mafat_window){taps, taps};
  return get_strides(r);
}

static int read_maxpool(struct section_reader *r)
{
  static const char *const refused[] = {"maxpool_depth", "antialiasing", "maxpool_zero_nonmax",
                                        NULL};
  int code = refuse_keys(r, refused);
  return code ? code : read_pool(r);
}

static int add_route_source(struct section_reader *r, int number, int groups, int group_id)
{
  struct mafat_operand *in = &r->layer->operands[0];
  int index, code = resolve_index(r, "layers", number, &index);
  if (code) return code;
  struct mafat_shape s = mafat_network_tensor_shape(r->network, index);
  if (in->shape.c == 0) in->shape = (struct mafat_shape){s.h, s.w, 0};
  if (s.h != in->shape.h || s.w != in->shape.w)
    return mafat_fail(r->d, MAFAT_EFORMAT,
                      "%s:%d: route expects maps of one size, found %d x %d and %d x %d (layer %d)",
                      r->cfg->path, r->section->line, in->shape.h, in->shape.w, s.h, s.w, index);
  if (s.c % groups)
    return fail_here(r, MAFAT_EFORMAT, "expects groups that divide its sources' channels");
  int n = s.c / groups;
  if (in->shape.c > INT_MAX - n) return fail_here(r, MAFAT_EFORMAT, "has too many channels");
  in->shape.c += n;
  code = append_output(r->network, &in->sources, index, group_id * n, n);
  if (in->sources.n > MAFAT_MAX_SOURCES)
    return fail_here(r, MAFAT_EUNSUPPORTED, "has too many sources");
  return code ? mafat_fail(r->d, code, "%s: out of memory", r->cfg->path) : MAFAT_OK;
}

static int read_route(struct section_reader *r)
{
  int *numbers = NULL, n = 0, groups = 1, group_id = 0, code;
  if ((code = mafat_cfg_ints(r->cfg, r->section, "layers", &numbers, &n, r->d)) ||
      (code = get_int(r, "groups", 1, MAFAT_MAX_EXTENT, &groups)) ||
      (code = get_int(r, "group_id", 0, groups - 1, &group_id)))
    goto done;
  if (n == 0) {
    code = fail_here(r, MAFAT_EFORMAT, "expects layers=, found none");
    goto done;
  }
  if (!append_operand(r->layer))
    code = mafat_fail(r->d, MAFAT_ENOMEM, "%s: out of memory", r->cfg->path);
  for (int i = 0; i < n && code == MAFAT_OK; i++)
    code = add_route_source(r, numbers[i], groups, group_id);
done:
  free(numbers);
  return code;
}

/* Adds operands for the layers in from=, at most `most`, each with at most `channels` channels. */
static int connect_to_named(struct section_reader *r, int most, int channels)
{
  int *numbers = NULL, n = 0, index = 0,
      code = mafat_cfg_ints(r->cfg, r->section, "from", &numbers, &n, r->d);
  if (code == MAFAT_OK && n == 0) code = fail_here(r, MAFAT_EFORMAT, "expects from=, found none");
  if (code == MAFAT_OK && n > most) code = fail_here(r, MAFAT_EUNSUPPORTED, "has too many sources");
  for (int i = 0; i < n && code == MAFAT_OK; i++) {
    code = resolve_index(r, "from", numbers[i], &index);
    if (code == MAFAT_OK) code = connect(r, index, channels);
  }
  free(numbers);
  return code;
}

static int read_shortcut(struct section_reader *r)
{
  static const char *const refused[] = {"weights_type", "weights_normalization", NULL};
  struct mafat_layer *l = r->layer;
  int code;
  l->alpha = l->beta = 1;
  if ((code = refuse_keys(r, refused)) || (code = connect_to_previous(r)) ||
      (code = connect_to_named(r, MAFAT_MAX_OPERANDS - 1, l->operands[0].shape.c)) ||
      (code = get_float(r, "alpha", &l->alpha)) || (code = get_float(r, "beta", &l->beta)))
    return code;
  return get_activation(r, MAFAT_LINEAR);
}

/* Reads a layer that multiplies the map in from= by the layer above it, which has one value per
 * channel, or with scale_wh=1 one per pixel. */
static int read_scale_channels(struct section_reader *r)
{
  struct mafat_layer *l = r->layer;
  bool pixels = false;
  int code;
  l->blend = MAFAT_BLEND_MUL;
  if ((code = connect_to_named(r, 1, INT_MAX)) || (code = connect_to_previous(r)) ||
      (code = get_bool(r, "scale_wh", &pixels)) || (code = get_activation(r, MAFAT_LINEAR)))
    return code;
  struct mafat_shape map = l->operands[0].shape, scales = l->operands[1].shape;
  struct mafat_shape expected = {pixels ? map.h : 1, pixels ? map.w : 1, pixels ? 1 : map.c};
  l->operands[1].broadcast = true;
  if (scales.h == expected.h && scales.w == expected.w && scales.c == expected.c) return MAFAT_OK;
  return mafat_fail(
      r->d, MAFAT_EFORMAT,
      "%s:%d: scale_channels expects %d x %d x %d above it (height, width, channels), "
      "found %d x %d x %d",
      r->cfg->path, r->section->line, expected.h, expected.w, expected.c, scales.h, scales.w,
      scales.c);
}

static int read_sam(struct section_reader *r)
{
  int code;
  r->layer->blend = MAFAT_BLEND_MUL;
  if ((code = connect_to_previous(r)) || (code = connect_to_named(r, 1, INT_MAX))) return code;
  return get_activation(r, MAFAT_LINEAR);
}

static int read_upsample(struct section_reader *r)
{
  struct mafat_layer *l = r->layer;
  int code;
  l->factor = 2;
  l->scale = 1;
  if ((code = connect_to_previous(r)) || (code = get_int(r, "stride", 1, MAX_WINDOW, &l->factor)))
    return code;
  return get_float(r, "scale", &l->scale);
}

static int read_reorg(struct section_reader *r)
{
  static const char *const refused[] = {"flatten", NULL};
  struct mafat_layer *l = r->layer;
  int code;
  l->factor = 1;
  if ((code = refuse_keys(r, refused)) || (code = connect_to_previous(r)) ||
      (code = get_int(r, "stride", 1, MAX_WINDOW, &l->factor)) ||
      (code = get_int(r, "extra", 0, MAFAT_MAX_EXTENT, &l->extra)))
    return code;
  return get_bool(r, "reverse", &l->reverse);
}

/* AlexeyAB's reorg3d. In AlexeyAB's code, reverse=1 does not undo it, and divides by zero if there
 * are few channels; so the key is refused. */
static int read_reorg3d(struct section_reader *r)
{
  static const char *const refused[] = {"reverse", NULL};
  int code;
  r->layer->factor = 1;
  if ((code = refuse_keys(r, refused)) || (code = connect_to_previous(r))) return code;
  return get_int(r, "stride", 1, MAX_WINDOW, &r->layer->factor);
}

static int read_connected(struct section_reader *r)
{
  static const char *const refused[] = {"dontload", "dontloadscales", NULL};
  struct mafat_layer *l = r->layer;
  int code;
  l->filters = 1;
  if ((code = refuse_keys(r, refused)) || (code = connect_to_previous(r)) ||
      (code = get_int(r, "output", 1, 1 << 26, &l->filters)) ||
      (code = get_bool(r, "batch_normalize", &l->batch_normalize)))
    return code;
  return get_activation(r, MAFAT_LOGISTIC);
}

static int read_local(struct section_reader *r)
{
  struct mafat_layer *l = r->layer;
  int size = 1, stride = 1, pad = 0, code;
  l->filters = l->groups = 1;
  if ((code = connect_to_previous(r)) ||
      (code = get_int(r, "filters", 1, MAFAT_MAX_EXTENT, &l->filters)) ||
      (code = get_int(r, "size", 1, MAX_WINDOW, &size)) ||
      (code = get_int(r, "stride", 1, MAX_WINDOW, &stride)) ||
      (code = get_int(r, "pad", 0, MAX_WINDOW, &pad)))
    return code;
  l->window = mafat_window_square(size, stride, pad);
  return get_activation(r, MAFAT_LOGISTIC);
}

static int read_crop(struct section_reader *r)
{
  struct mafat_layer *l = r->layer;
  int code;
  l->out.h = l->out.w = 1;
  if ((code = connect_to_previous(r)) ||
      (code = get_int(r, "crop_height", 1, MAFAT_MAX_EXTENT, &l->out.h)) ||
      (code = get_int(r, "crop_width", 1, MAFAT_MAX_EXTENT, &l->out.w)))
    return code;
  return get_bool(r, "noadjust", &l->noadjust);
}

static int read_activation(struct section_reader *r)
{
  int code = connect_to_previous(r);
  return code ? code : get_activation(r, MAFAT_LINEAR);
}

static int read_softmax(struct section_reader *r)
{
  static const char *const refused[] = {"tree", "spatial", NULL};
  struct mafat_layer *l = r->layer;
  int code;
  l->n_softmaxes = 1;
  l->temperature = 1;
  if ((code = refuse_keys(r, refused)) || (code = connect_to_previous(r)) ||
      (code = get_int(r, "groups", 1, INT_MAX, &l->n_softmaxes)))
    return code;
  return get_float(r, "temperature", &l->temperature);
}

/* Refuses anchors that are not pairs, or fewer than `least`, the value of num=. Darknet uses 0.5
 * for missing anchors: boxes of half a pixel, which no network was trained for. */
static int check_anchors(struct section_reader *r, int n, int least)
{
  const struct mafat_cfg_option *o = mafat_cfg_find(r->section, "anchors");
  if (!o || (n % 2 == 0 && n >= 2 * least)) return MAFAT_OK;
  return mafat_fail(r->d, MAFAT_EFORMAT,
                    "%s:%d: anchors expects a width and a height for each of num=%d boxes, found "
                    "%d numbers",
                    r->cfg->path, o->line, least, n);
}

/* Reads anchors= into pairs, which the caller frees: `least` pairs, or more if the cfg lists more.
 * Without the key, all values are 0.5, as in Darknet. */
static int read_anchors(struct section_reader *r, int least, float **pairs, int *n_pairs)
{
  float *given = NULL;
  int n = 0, code = mafat_cfg_floats(r->cfg, r->section, "anchors", &given, &n, r->d);
  if (code == MAFAT_OK) code = check_anchors(r, n, least);
  if (code) {
    free(given);
    return code;
  }
  *n_pairs = n > 2 * least ? n / 2 : least;
  *pairs = malloc((size_t)*n_pairs * 2 * sizeof **pairs);
  if (!*pairs) code = mafat_fail(r->d, MAFAT_ENOMEM, "%s: out of memory", r->cfg->path);
  for (int i = 0; *pairs && i < 2 * *n_pairs; i++) (*pairs)[i] = i < n ? given[i] : .5f;
  free(given);
  return code;
}

enum { MAX_BOXES = 4096, MAX_CLASSES = 1 << 20 };

static int read_region(struct section_reader *r)
{
  static const char *const refused[] = {"tree", NULL};
  struct mafat_head *h = &r->layer->head;
  int code;
  h->coords = 4;
  h->classes = 20;
  h->n_anchors = 1;
  if ((code = refuse_keys(r, refused)) || (code = connect_to_previous(r)) ||
      (code = get_int(r, "coords", 4, 4, &h->coords)) ||
      (code = get_int(r, "classes", 1, MAX_CLASSES, &h->classes)) ||
      (code = get_int(r, "num", 1, MAX_BOXES, &h->n_anchors)) ||
      (code = get_bool(r, "softmax", &h->softmax)) ||
      (code = get_bool(r, "background", &h->background)))
    return code;
  int given = 0;
  if ((code = read_anchors(r, h->n_anchors, &h->anchors, &given))) return code;
  return given > h->n_anchors ? fail_here(r, MAFAT_EFORMAT, "has more anchors than num= allows")
                              : MAFAT_OK;
}

/* Selects the anchors in mask=; without it, the first num=. If a mask exceeds num=, Darknet reads
 * past its list; here the anchors that the cfg lists are used. */
static int select_anchors(struct section_reader *r, const float *all, int given, int total)
{
  struct mafat_head *h = &r->layer->head;
  int *mask = NULL, n = 0;
  int code = mafat_cfg_ints(r->cfg, r->section, "mask", &mask, &n, r->d);
  if (code) return code;
  h->n_anchors = n ? n : total;
  h->anchors = malloc((size_t)h->n_anchors * 2 * sizeof *h->anchors);
  if (!h->anchors) code = mafat_fail(r->d, MAFAT_ENOMEM, "%s: out of memory", r->cfg->path);
  for (int i = 0; i < h->n_anchors && code == MAFAT_OK; i++) {
    int from = n ? mask[i] : i;
    if (from < 0 || from >= given)
      code = fail_here(r, MAFAT_EFORMAT, "expects a mask of numbers below num=");
    else
      memcpy(&h->anchors[2 * i], &all[2 * from], 2 * sizeof *all);
  }
  free(mask);
  return code;
}

/* Sets *which to the index of the key's value among n words; 0 if the key is absent. */
static int get_word(struct section_reader *r, const char *key, const char *const *words, int n,
                    int *which)
{
  const struct mafat_cfg_option *o = mafat_cfg_find(r->section, key);
  *which = 0;
  if (!o) return MAFAT_OK;
  for (; *which < n; ++*which)
    if (strcmp(o->value, words[*which]) == 0) return MAFAT_OK;
  return mafat_fail(r->d, MAFAT_EUNSUPPORTED, "%s:%d: %s=%.60s in [%s] is not supported",
                    r->cfg->path, o->line, key, o->value, r->section->type);
}

/* Reads the overlap measure of non-maximum suppression; pjreddie's Darknet has only one measure. */
static int get_nms(struct section_reader *r, struct mafat_head *h)
{
  /* in the order of enum mafat_nms */
  static const char *const kinds[] = {"default", "greedynms", "diounms"};
  int kind, code;
  h->beta_nms = .6f;
  if (r->network->fork == MAFAT_FORK_DARKNET) return MAFAT_OK;
  if ((code = get_float(r, "beta_nms", &h->beta_nms)) ||
      (code = get_word(r, "nms_kind", kinds, 3, &kind)))
    return code;
  h->nms = (enum mafat_nms)kind;
  return MAFAT_OK;
}

/* Reads the parameters that yolo and Gaussian_yolo share. */
static int read_yolo_boxes(struct section_reader *r, int coords)
{
  struct mafat_head *h = &r->layer->head;
  float *all = NULL;
  int total = 1, given = 0, code;
  h->coords = coords;
  h->classes = 20;
  h->scale_xy = 1;
  if ((code = connect_to_previous(r)) || (code = get_nms(r, h)) ||
      (code = get_int(r, "classes", 1, MAX_CLASSES, &h->classes)) ||
      (code = get_int(r, "num", 1, MAX_BOXES, &total)) ||
      (code = get_float(r, "scale_x_y", &h->scale_xy)) ||
      (code = read_anchors(r, total, &all, &given)))
    return code;
  code = select_anchors(r, all, given, total);
  free(all);
  return code;
}

static int read_yolo(struct section_reader *r)
{
  int code = read_yolo_boxes(r, 4);
  return code ? code : get_bool(r, "new_coords", &r->layer->head.new_coords);
}

static int read_gaussian_yolo(struct section_reader *r)
{
  /* in the order of enum mafat_point */
  static const char *const points[] = {"center", "left_top", "right_bottom"};
  int point, code;
  if ((code = read_yolo_boxes(r, 8)) || (code = get_word(r, "yolo_point", points, 3, &point)))
    return code;
  r->layer->head.point = (enum mafat_point)point;
  return MAFAT_OK;
}

static int read_detection(struct section_reader *r)
{
  struct mafat_head *h = &r->layer->head;
  int code;
  h->coords = 1;
  h->classes = h->n_anchors = 1;
  h->side = 7;
  if ((code = connect_to_previous(r)) || (code = get_int(r, "coords", 4, 4, &h->coords)) ||
      (code = get_int(r, "classes", 1, MAX_CLASSES, &h->classes)) ||
      (code = get_int(r, "num", 1, MAX_BOXES, &h->n_anchors)) ||
      (code = get_int(r, "side", 1, MAX_WINDOW, &h->side)) ||
      (code = get_bool(r, "softmax", &h->softmax)) || (code = get_bool(r, "sqrt", &h->sqrt)))
    return code;
  return h->coords == 4 ? MAFAT_OK : fail_here(r, MAFAT_EFORMAT, "expects coords=4");
}

static const struct {
  const char *name;
  enum mafat_layer_type type;
  int (*read)(struct section_reader *r);
} section_types[] = {
    {"convolutional", MAFAT_CONVOLUTIONAL, read_convolutional},
    {"conv", MAFAT_CONVOLUTIONAL, read_convolutional},
    {"maxpool", MAFAT_MAXPOOL, read_maxpool},
    {"max", MAFAT_MAXPOOL, read_maxpool},
    {"local_avgpool", MAFAT_LOCAL_AVGPOOL, read_pool},
    {"local_avg", MAFAT_LOCAL_AVGPOOL, read_pool},
    {"avgpool", MAFAT_AVGPOOL, connect_to_previous},
    {"avg", MAFAT_AVGPOOL, connect_to_previous},
    {"route", MAFAT_ROUTE, read_route},
    {"shortcut", MAFAT_SHORTCUT, read_shortcut},
    {"upsample", MAFAT_UPSAMPLE, read_upsample},
    {"reorg", MAFAT_REORG, read_reorg},
    {"reorg3d", MAFAT_REORG3D, read_reorg3d},
    {"connected", MAFAT_CONNECTED, read_connected},
    {"conn", MAFAT_CONNECTED, read_connected},
    {"local", MAFAT_LOCAL, read_local},
    {"batchnorm", MAFAT_BATCHNORM, connect_to_previous},
    {"crop", MAFAT_CROP, read_crop},
    {"activation", MAFAT_ACTIVATION_LAYER, read_activation},
    {"dropout", MAFAT_DROPOUT, connect_to_previous},
    {"cost", MAFAT_COST, connect_to_previous},
    {"softmax", MAFAT_SOFTMAX, read_softmax},
    {"soft", MAFAT_SOFTMAX, read_softmax},
    {"region", MAFAT_REGION, read_region},
    {"yolo", MAFAT_YOLO, read_yolo},
    {"Gaussian_yolo", MAFAT_GAUSSIAN_YOLO, read_gaussian_yolo},
    {"detection", MAFAT_DETECTION, read_detection},
    {"scale_channels", MAFAT_SCALE_CHANNELS, read_scale_channels},
    {"sam", MAFAT_SAM, read_sam},
};

int mafat_sections_read_layer(struct mafat_network *n, int index, struct mafat_cfg *cfg,
                              struct mafat_cfg_section *s, struct mafat_diagnostic *d)
{
  for (size_t i = 0; i < sizeof section_types / sizeof *section_types; i++) {
    if (strcmp(s->type, section_types[i].name) != 0) continue;
    struct section_reader r = {n, index, &n->layers[index], cfg, s, d};
    r.layer->type = section_types[i].type;
    r.layer->line = s->line;
    r.layer->out_type = r.layer->weights_type = MAFAT_F32; /* Darknet has no other type */
    int code = section_types[i].read(&r);
    const struct mafat_infer_context context = {cfg->path, s->line, index, s->type, d};
    if (code == MAFAT_OK) code = mafat_network_take_operands(n, index, &context);
    return code ? code : mafat_layer_infer(r.layer, &context);
  }
  return mafat_fail(d, MAFAT_EUNSUPPORTED, "%s:%d: layer [%.60s] is not supported", cfg->path,
                    s->line, s->type);
}

/* Replaces the cfg's input size. */
static int resize_input(struct mafat_shape *shape, bool is_map, int width, int height,
                        const struct mafat_cfg *cfg, struct mafat_diagnostic *d)
{
  if (!width && !height) return MAFAT_OK;
  if (!is_map)
    return mafat_fail(d, MAFAT_EINVAL, "%s: its input has no width and height to be changed",
                      cfg->path);
  if (width) shape->w = width;
  if (height) shape->h = height;
  if (shape->w >= 1 && shape->h >= 1 && shape->w <= MAFAT_MAX_EXTENT &&
      shape->h <= MAFAT_MAX_EXTENT)
    return MAFAT_OK;
  return mafat_fail(d, MAFAT_EINVAL,
                    "%s: expected an input of 1 to %d pixels a side, found %d x %d (height, width)",
                    cfg->path, MAFAT_MAX_EXTENT, shape->h, shape->w);
}

int mafat_sections_read_net(struct mafat_network *n, struct mafat_cfg *cfg, int width, int height,
                            struct mafat_diagnostic *d)
{
  struct mafat_cfg_section *s = &cfg->sections[0];
  int code, letter_box = n->fork != MAFAT_FORK_ALEXEYAB, inputs = 0;
  struct mafat_shape shape = {0, 0, 0};
  if (strcmp(s->type, "net") != 0 && strcmp(s->type, "network") != 0)
    return mafat_fail(d, MAFAT_EFORMAT,
                      "%s:%d: expected the first section to be [net], found [%.60s]", cfg->path,
                      s->line, s->type);
  if ((code = mafat_cfg_int(cfg, s, "height", 0, MAFAT_MAX_EXTENT, &shape.h, d)) ||
      (code = mafat_cfg_int(cfg, s, "width", 0, MAFAT_MAX_EXTENT, &shape.w, d)) ||
      (code = mafat_cfg_int(cfg, s, "channels", 0, MAFAT_MAX_EXTENT, &shape.c, d)) ||
      (code = mafat_cfg_int(cfg, s, "inputs", 0, 64 * MAFAT_MAX_EXTENT, &inputs, d)) ||
      (code = mafat_cfg_int(cfg, s, "letter_box", 0, 1, &letter_box, d)))
    return code;
  bool is_map = shape.h > 0 && shape.w > 0 && shape.c > 0;
  if (!is_map && inputs > 0) shape = (struct mafat_shape){1, 1, inputs};
  else if (!is_map)
    return mafat_fail(d, MAFAT_EFORMAT,
                      "%s:%d: [net] expects height, width and channels, found %d x %d x %d",
                      cfg->path, s->line, shape.h, shape.w, shape.c);
  else if (inputs > 0 && inputs != mafat_shape_elements(shape))
    return mafat_fail(d, MAFAT_EFORMAT,
                      "%s:%d: [net] has inputs=%d, but height x width x channels is %lld",
                      cfg->path, s->line, inputs, mafat_shape_elements(shape));
  if ((code = resize_input(&shape, is_map, width, height, cfg, d))) return code;
  if ((long long)shape.h * shape.w > INT_MAX / 4 || mafat_shape_elements(shape) > (1LL << 40))
    return mafat_fail(d, MAFAT_EFORMAT, "%s:%d: [net] is too large: %d x %d x %d", cfg->path,
                      s->line, shape.h, shape.w, shape.c);
  const struct mafat_infer_context context = {cfg->path, s->line, -1, s->type, d};
  struct mafat_layer *input = &n->layers[mafat_network_picture(n)];
  *input = (struct mafat_layer){
      .type = MAFAT_INPUT_LAYER, .line = s->line, .in = shape, .out_type = MAFAT_F32};
  n->letterbox = letter_box != 0;
  return mafat_layer_infer(input, &context);
}

/* Keys of training, augmentation and display, which do not change results. */
static const char *const training_keys[] = {
    "absolute", "adam", "adversarial_lr", "angle", "aspect", "attention", "augment_speed", "B1",
    "B2", "background", "badlabels_rejection_percentage", "batch", "bias_match", "blur", "burn_in",
    "burnin_update", "center", "class_scale", "classfix", "clip", "cls_normalizer", "contrastive",
    "contrastive_color", "contrastive_jit_flip", "coord_scale", "coords", "counters_per_class",
    "cutmix", "decay", "delta_normalizer", "dets_for_show", "dets_for_track", "distance",
    "dont_update", "dontsave", "dropblock", "dropblock_size_abs", "dropblock_size_rel",
    "dynamic_minibatch", "ema_alpha", "embedding_layer", "eps", "equidistant_point", "exposure",
    "flip", "focal_loss", "forced", "gamma", "gaussian_noise", "grad_centr", "hue", "ignore_thresh",
    "iou_loss", "iou_normalizer", "iou_thresh", "iou_thresh_kind", "jitter", "label_smooth_eps",
    "labels", "learning_rate", "learning_rate_min", "letter_box", "log", "loss_scale", "map",
    "mask_scale", "max", "max_batches", "max_chart_loss", "max_crop", "max_delta", "max_ratio",
    "min_crop", "min_ratio", "mixup", "momentum", "mosaic", "mosaic_bound", "noloss", "noobj",
    "noobject_scale", "notruth", "num_sigmas_reject_badlabels", "obj_normalizer", "object_scale",
    "objectness_smooth", "onlyforward", "optimized_memory", "policy", "power", "probability",
    "random", "ratio", "reorg", "rescore", "resize", "resize_step", "saturation", "scale", "scales",
    "seed", "seen", "seq_scales", "sequential_subdivisions", "sgdr_cycle", "sgdr_mult", "shift",
    "show_details", "show_receptive_field", "sim_thresh", "smooth", "sqrt", "step", "steps",
    "stopbackward", "stream", "subdivisions", "thresh", "time_steps", "track", "track_ciou_norm",
    "track_history_size", "train_only_bn", "truth", "truth_thresh", "try_fix_nan", "type",
    "uc_normalizer", "unsupervised", "use_cuda_graph", "wait_stream", "weights_reject_freq",
    "workspace_size_limit_MB",
};

static bool is_training_key(const char *key)
{
  for (size_t i = 0; i < sizeof training_keys / sizeof *training_keys; i++)
    if (strcmp(key, training_keys[i]) == 0) return true;
  return false;
}

/* Warns that boxes of [detection] may be misplaced: Darknet's `detector test` does not undo the
 * letterbox for this kind of head. Its `yolo test` stretches the picture instead. */
static void warn_of_letterbox(const struct mafat_cfg *cfg, const struct mafat_network *n,
                              const struct mafat_warning_sink *warnings)
{
  if (!n->letterbox || mafat_cfg_find(&cfg->sections[0], "letter_box")) return;
  for (int i = 1; i <= n->n_layers; i++)
    if (strcmp(cfg->sections[i].type, "detection") == 0)
      mafat_warn(warnings,
                 "%s:%d: boxes of [detection] are as Darknet's detector test gives them: misplaced "
                 "if the picture's aspect ratio differs from the network's; letter_box=0 in [net] "
                 "stretches pictures, as its yolo test does",
                 cfg->path, cfg->sections[i].line);
}

void mafat_sections_warn_unknown(const struct mafat_cfg *cfg, const struct mafat_network *n,
                                 const struct mafat_warning_sink *warnings)
{
  enum { MOST = 100 }; /* limit: a cfg of 4 MB could have a million unknown keys */
  int reported = 0;
  warn_of_letterbox(cfg, n, warnings);
  for (int i = 0; i <= n->n_layers; i++)
    for (int j = 0; j < cfg->sections[i].n_options; j++) {
      const struct mafat_cfg_section *s = &cfg->sections[i];
      const struct mafat_cfg_option *o = &s->options[j];
      int first = 0;
      while (strcmp(s->options[first].key, o->key) != 0) first++;
      if (first == j && (o->used || is_training_key(o->key))) continue;
      if (reported++ == MOST) {
        mafat_warn(warnings, "%s:%d: more keys from here on are unknown, or were given before",
                   cfg->path, o->line);
        return;
      }
      if (first < j)
        mafat_warn(warnings, "%s:%d: key %.60s in [%s] was given before: its first value counts",
                   cfg->path, o->line, o->key, s->type);
      else
        mafat_warn(warnings, "%s:%d: unknown key %.60s in [%s] is ignored", cfg->path, o->line,
                   o->key, cfg->sections[i].type);
    }
}
