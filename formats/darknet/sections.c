#include "formats/darknet/sections.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* One section being read: the layer under construction and where messages point. */
struct reader {
  struct mafat_network *network;
  int index;
  struct mafat_layer *layer;
  const struct mafat_cfg *cfg;
  struct mafat_cfg_section *section;
  struct mafat_diagnostic *d;
};

static int get_int(struct reader *r, const char *key, int least, int most, int *value)
{
  return mafat_cfg_int(r->cfg, r->section, key, least, most, value, r->d);
}

static int get_bool(struct reader *r, const char *key, bool *value)
{
  int number = *value;
  int code = get_int(r, key, INT_MIN, INT_MAX, &number);
  *value = number != 0;
  return code;
}

static int get_float(struct reader *r, const char *key, float *value)
{
  return mafat_cfg_float(r->cfg, r->section, key, value, r->d);
}

static int fail_here(struct reader *r, int code, const char *what)
{
  return mafat_fail(r->d, code, "%s:%d: layer [%s] %s", r->cfg->path, r->section->line,
                    r->section->type, what);
}

/* Keys that change what is computed and that no kernel of ours knows. */
static int refuse_keys(struct reader *r, const char *const *keys)
{
  for (; *keys; keys++) {
    const struct mafat_cfg_option *o = mafat_cfg_find(r->section, *keys);
    bool off = o && (strcmp(o->value, "0") == 0 || strcmp(o->value, "none") == 0);
    if (o && (!off || strcmp(o->key, "share_index") == 0)) /* its 0 is a layer */
      return mafat_fail(r->d, MAFAT_EUNSUPPORTED, "%s:%d: %s=%.60s in [%s] is not supported",
                        r->cfg->path, o->line, *keys, o->value, r->section->type);
  }
  return MAFAT_OK;
}

static int get_activation(struct reader *r, enum mafat_activation fallback)
{
  const struct mafat_cfg_option *o = mafat_cfg_find(r->section, "activation");
  r->layer->activation = fallback;
  if (!o) return MAFAT_OK;
  for (int a = 0; a < MAFAT_N_ACTIVATIONS; a++)
    if (strcmp(o->value, mafat_activation_name((enum mafat_activation)a)) == 0) {
      r->layer->activation = (enum mafat_activation)a;
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

/* Appends channels [first, first + n) of what layer `index` puts out. */
static int append_output(struct mafat_network *net, struct mafat_sources *to, int index, int first,
                         int n)
{
  struct mafat_source self;
  struct mafat_sources behind = mafat_network_output_sources(net, index, &self);
  int code = MAFAT_OK, position = 0;
  for (int i = 0; i < behind.n && code == MAFAT_OK; i++) {
    struct mafat_source s = behind.list[i];
    struct mafat_span wanted = {first - position, first + n - position};
    wanted = mafat_span_clip(wanted, s.n);
    position += s.n;
    if (!mafat_span_is_empty(wanted))
      code = append_source(to, (struct mafat_source){s.tensor, s.first + wanted.begin,
                                                     mafat_span_size(wanted)});
  }
  return code;
}

/* The ordinary edge: from the layer above, or from the input. */
static int connect_to_previous(struct reader *r)
{
  int previous = r->index - 1; /* -1 is MAFAT_INPUT */
  r->layer->in = mafat_network_tensor_shape(r->network, previous);
  int code = append_output(r->network, &r->layer->sources, previous, 0, r->layer->in.c);
  return code ? mafat_fail(r->d, code, "%s: out of memory", r->cfg->path) : MAFAT_OK;
}

/* Turns the cfg's absolute or relative layer number into an index. */
static int resolve_index(struct reader *r, const char *key, int number, int *index)
{
  *index = number < 0 ? r->index + number : number;
  if (*index >= 0 && *index < r->index) return MAFAT_OK;
  return mafat_fail(r->d, MAFAT_EFORMAT,
                    "%s:%d: %s in layer %d [%s] expects an earlier layer, found %d", r->cfg->path,
                    r->section->line, key, r->index, r->section->type, number);
}

/* Every tensor must be addressable and countable in 63 bits and fit int indices. */
static int set_output(struct reader *r, long long h, long long w, long long c)
{
  if (h < 1 || w < 1 || c < 1 || h > MAFAT_MAX_EXTENT || w > MAFAT_MAX_EXTENT ||
      c > 64LL * MAFAT_MAX_EXTENT || h * w > INT_MAX / 4 || h * w * c > (1LL << 40))
    return mafat_fail(r->d, MAFAT_EFORMAT,
                      "%s:%d: layer %d [%s] would put out %lld x %lld x %lld (height, width, channels)",
                      r->cfg->path, r->section->line, r->index, r->section->type, h, w, c);
  r->layer->out = (struct mafat_shape){(int)h, (int)w, (int)c};
  return MAFAT_OK;
}

/* No real layer has a terabyte of weights: past that, products would overflow. */
static int check_weights(struct reader *r, double filters, double weights_per_filter)
{
  if (filters * weights_per_filter > (double)(1LL << 38))
    return fail_here(r, MAFAT_EFORMAT, "would have more than a terabyte of weights");
  return MAFAT_OK;
}

static int output_like_input(struct reader *r)
{
  struct mafat_shape in = r->layer->in;
  return set_output(r, in.h, in.w, in.c);
}

static long long floats_of(struct mafat_shape s)
{
  return (long long)s.h * s.w * s.c;
}

/* ---- one reader per layer type ---- */

enum {
  MAX_WINDOW = 4096, /* taps per side, strides, paddings */
  MAX_SOURCES = 4096 /* of a route: routes of routes would double them without end */
};

static int read_convolutional(struct reader *r)
{
  static const char *const refused[] = {"binary", "xnor", "flipped", "dot", "dontload", "numload",
                                        "dontloadscales", "stride_x", "stride_y", "antialiasing",
                                        "share_index", "assisted_excitation", "deform", "sway",
                                        "rotate", "stretch", "stretch_sway", "coordconv", "cbn", NULL};
  struct mafat_layer *l = r->layer;
  int dilation = 1, pad = 0, code;
  l->filters = l->size = l->stride = l->groups = 1;
  if ((code = refuse_keys(r, refused)) || (code = connect_to_previous(r)) ||
      (code = get_int(r, "filters", 1, MAFAT_MAX_EXTENT, &l->filters)) ||
      (code = get_int(r, "size", 1, MAX_WINDOW, &l->size)) ||
      (code = get_int(r, "stride", 1, MAX_WINDOW, &l->stride)) ||
      (code = get_int(r, "padding", 0, MAX_WINDOW, &l->pad)) ||
      (code = get_int(r, "pad", 0, INT_MAX, &pad)) ||
      (code = get_int(r, "groups", 1, MAFAT_MAX_EXTENT, &l->groups)) ||
      (code = get_int(r, "dilation", 1, MAX_WINDOW, &dilation)) ||
      (code = get_bool(r, "batch_normalize", &l->batch_normalize)) ||
      (code = get_activation(r, MAFAT_LOGISTIC)))
    return code;
  if (pad) l->pad = l->size / 2;
  if (dilation != 1 && l->size > 1)
    return fail_here(r, MAFAT_EUNSUPPORTED, "with dilation other than 1 is not supported");
  if (l->in.c % l->groups || l->filters % l->groups)
    return fail_here(r, MAFAT_EFORMAT, "expects groups that divide both channels and filters");
  long long h = l->in.h + 2LL * l->pad - l->size, w = l->in.w + 2LL * l->pad - l->size;
  if (h < 0 || w < 0) return fail_here(r, MAFAT_EFORMAT, "has a window larger than its padded input");
  if ((code = check_weights(r, l->filters, (double)(l->in.c / l->groups) * l->size * l->size)))
    return code;
  return set_output(r, h / l->stride + 1, w / l->stride + 1, l->filters);
}

static int read_maxpool(struct reader *r)
{
  static const char *const refused[] = {"maxpool_depth", "antialiasing", "stride_x", "stride_y",
                                        "maxpool_zero_nonmax", NULL};
  struct mafat_layer *l = r->layer;
  int code;
  l->stride = 1;
  if ((code = refuse_keys(r, refused)) || (code = connect_to_previous(r)) ||
      (code = get_int(r, "stride", 1, MAX_WINDOW, &l->stride)))
    return code;
  l->size = l->stride;
  if ((code = get_int(r, "size", 1, MAX_WINDOW, &l->size))) return code;
  l->padding = l->size - 1;
  if ((code = get_int(r, "padding", 0, MAX_WINDOW, &l->padding))) return code;
  l->pad = l->padding / 2;
  long long h = (long long)l->in.h + l->padding - l->size;
  long long w = (long long)l->in.w + l->padding - l->size;
  if (h < 0 || w < 0) return fail_here(r, MAFAT_EFORMAT, "has a window larger than its padded input");
  /* A window wholly in the padding would put out -FLT_MAX, as it does in
   * Darknet: no trained network has one, so it is taken for a mistake. */
  long long out_h = h / l->stride + 1, out_w = w / l->stride + 1;
  if (l->pad >= l->size || (out_h - 1) * l->stride - l->pad >= l->in.h ||
      (out_w - 1) * l->stride - l->pad >= l->in.w)
    return fail_here(r, MAFAT_EFORMAT, "has a window that sees only padding");
  return set_output(r, out_h, out_w, l->in.c);
}

static int read_avgpool(struct reader *r)
{
  int code = connect_to_previous(r);
  return code ? code : set_output(r, 1, 1, r->layer->in.c);
}

static int add_route_source(struct reader *r, int number, int groups, int group_id)
{
  struct mafat_layer *l = r->layer;
  int index, code = resolve_index(r, "layers", number, &index);
  if (code) return code;
  struct mafat_shape s = mafat_network_tensor_shape(r->network, index);
  if (l->in.c == 0) l->in = (struct mafat_shape){s.h, s.w, 0};
  if (s.h != l->in.h || s.w != l->in.w)
    return mafat_fail(r->d, MAFAT_EFORMAT,
                      "%s:%d: route expects maps of one size, found %d x %d and %d x %d (layer %d)",
                      r->cfg->path, r->section->line, l->in.h, l->in.w, s.h, s.w, index);
  if (s.c % groups)
    return fail_here(r, MAFAT_EFORMAT, "expects groups that divide its sources' channels");
  int n = s.c / groups;
  if (l->in.c > INT_MAX - n) return fail_here(r, MAFAT_EFORMAT, "has too many channels");
  l->in.c += n;
  code = append_output(r->network, &l->sources, index, group_id * n, n);
  if (l->sources.n > MAX_SOURCES)
    return fail_here(r, MAFAT_EUNSUPPORTED, "has too many sources");
  return code ? mafat_fail(r->d, code, "%s: out of memory", r->cfg->path) : MAFAT_OK;
}

static int read_route(struct reader *r)
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
  for (int i = 0; i < n && code == MAFAT_OK; i++)
    code = add_route_source(r, numbers[i], groups, group_id);
  if (code == MAFAT_OK) code = output_like_input(r);
done:
  free(numbers);
  return code;
}

/* Darknet asserts that both maps relate by one whole factor, up or down. */
static bool shortcut_sizes_agree(struct mafat_shape from, struct mafat_shape to)
{
  return from.w / to.w == from.h / to.h && to.w / from.w == to.h / from.h &&
         (from.w / to.w >= 1 || to.w / from.w >= 1);
}

static int read_shortcut(struct reader *r)
{
  static const char *const refused[] = {"weights_type", "weights_normalization", NULL};
  struct mafat_layer *l = r->layer;
  int *numbers = NULL, n = 0, index, code;
  l->alpha = l->beta = 1;
  if ((code = refuse_keys(r, refused)) || (code = connect_to_previous(r)) ||
      (code = mafat_cfg_ints(r->cfg, r->section, "from", &numbers, &n, r->d)))
    goto done;
  if (n != 1) {
    code = fail_here(r, n ? MAFAT_EUNSUPPORTED : MAFAT_EFORMAT, "expects one layer in from=");
    goto done;
  }
  if ((code = resolve_index(r, "from", numbers[0], &index)) ||
      (code = get_float(r, "alpha", &l->alpha)) || (code = get_float(r, "beta", &l->beta)) ||
      (code = get_activation(r, MAFAT_LINEAR)))
    goto done;
  l->from_shape = mafat_network_tensor_shape(r->network, index);
  if (!shortcut_sizes_agree(l->from_shape, l->in)) {
    code = mafat_fail(r->d, MAFAT_EFORMAT,
                      "%s:%d: shortcut expects maps that differ by one whole factor, found %d x %d and %d x %d",
                      r->cfg->path, r->section->line, l->from_shape.h, l->from_shape.w, l->in.h,
                      l->in.w);
    goto done;
  }
  int channels = l->from_shape.c < l->in.c ? l->from_shape.c : l->in.c;
  if (append_output(r->network, &l->from, index, 0, channels)) {
    code = mafat_fail(r->d, MAFAT_ENOMEM, "%s: out of memory", r->cfg->path);
    goto done;
  }
  code = output_like_input(r);
done:
  free(numbers);
  return code;
}

static int read_upsample(struct reader *r)
{
  struct mafat_layer *l = r->layer;
  int code;
  l->stride = 2;
  l->scale = 1;
  if ((code = connect_to_previous(r)) || (code = get_int(r, "stride", 1, MAX_WINDOW, &l->stride)) ||
      (code = get_float(r, "scale", &l->scale)))
    return code;
  return set_output(r, (long long)l->in.h * l->stride, (long long)l->in.w * l->stride, l->in.c);
}

static int read_reorg(struct reader *r)
{
  static const char *const refused[] = {"flatten", NULL};
  struct mafat_layer *l = r->layer;
  int code;
  l->stride = 1;
  if ((code = refuse_keys(r, refused)) || (code = connect_to_previous(r)) ||
      (code = get_int(r, "stride", 1, MAX_WINDOW, &l->stride)) ||
      (code = get_int(r, "extra", 0, MAFAT_MAX_EXTENT, &l->extra)) ||
      (code = get_bool(r, "reverse", &l->reverse)))
    return code;
  if (l->extra) return set_output(r, 1, 1, floats_of(l->in) + l->extra);
  int s = l->stride, area = s * s;
  if (l->in.c % area || (!l->reverse && (l->in.h % s || l->in.w % s)))
    return fail_here(r, MAFAT_EFORMAT,
                     "expects channels divisible by stride squared, and a map divisible by stride");
  if (l->reverse) return set_output(r, (long long)l->in.h * s, (long long)l->in.w * s, l->in.c / area);
  return set_output(r, l->in.h / s, l->in.w / s, (long long)l->in.c * area);
}

static int read_connected(struct reader *r)
{
  static const char *const refused[] = {"dontload", "dontloadscales", NULL};
  struct mafat_layer *l = r->layer;
  int output = 1, code;
  if ((code = refuse_keys(r, refused)) || (code = connect_to_previous(r)) ||
      (code = get_int(r, "output", 1, 1 << 26, &output)) ||
      (code = get_bool(r, "batch_normalize", &l->batch_normalize)) ||
      (code = get_activation(r, MAFAT_LOGISTIC)))
    return code;
  if (floats_of(l->in) > INT_MAX)
    return fail_here(r, MAFAT_EFORMAT, "has too many inputs");
  l->filters = output;
  if ((code = check_weights(r, output, (double)floats_of(l->in)))) return code;
  return set_output(r, 1, 1, output);
}

static int read_local(struct reader *r)
{
  struct mafat_layer *l = r->layer;
  int pad = 0, code;
  l->filters = l->size = l->stride = l->groups = 1;
  if ((code = connect_to_previous(r)) ||
      (code = get_int(r, "filters", 1, MAFAT_MAX_EXTENT, &l->filters)) ||
      (code = get_int(r, "size", 1, MAX_WINDOW, &l->size)) ||
      (code = get_int(r, "stride", 1, MAX_WINDOW, &l->stride)) ||
      (code = get_int(r, "pad", 0, MAX_WINDOW, &pad)) || (code = get_activation(r, MAFAT_LOGISTIC)))
    return code;
  l->pad = pad;
  /* Darknet's own rule: any pad counts as one for the size, as itself for the taps. */
  int less = pad ? 1 : l->size;
  if (l->in.h < less || l->in.w < less)
    return fail_here(r, MAFAT_EFORMAT, "has a window larger than its input");
  int h = (l->in.h - less) / l->stride + 1, w = (l->in.w - less) / l->stride + 1;
  if ((code = check_weights(r, (double)h * w * l->filters, (double)l->in.c * l->size * l->size)))
    return code;
  return set_output(r, h, w, l->filters);
}

static int read_batchnorm(struct reader *r)
{
  int code = connect_to_previous(r);
  return code ? code : output_like_input(r);
}

static int read_crop(struct reader *r)
{
  struct mafat_layer *l = r->layer;
  int h = 1, w = 1, code;
  if ((code = connect_to_previous(r)) ||
      (code = get_int(r, "crop_height", 1, MAFAT_MAX_EXTENT, &h)) ||
      (code = get_int(r, "crop_width", 1, MAFAT_MAX_EXTENT, &w)) ||
      (code = get_bool(r, "noadjust", &l->noadjust)))
    return code;
  if (h > l->in.h || w > l->in.w) return fail_here(r, MAFAT_EFORMAT, "is larger than its input");
  l->crop_y = (l->in.h - h) / 2;
  l->crop_x = (l->in.w - w) / 2;
  return set_output(r, h, w, l->in.c);
}

static int read_activation(struct reader *r)
{
  int code;
  if ((code = connect_to_previous(r)) || (code = get_activation(r, MAFAT_LINEAR))) return code;
  return output_like_input(r);
}

static int read_alias(struct reader *r)
{
  int code = connect_to_previous(r);
  return code ? code : output_like_input(r);
}

static int read_softmax(struct reader *r)
{
  static const char *const refused[] = {"tree", "spatial", NULL};
  struct mafat_layer *l = r->layer;
  int code;
  l->groups = 1;
  l->temperature = 1;
  if ((code = refuse_keys(r, refused)) || (code = connect_to_previous(r)) ||
      (code = get_int(r, "groups", 1, INT_MAX, &l->groups)) ||
      (code = get_float(r, "temperature", &l->temperature)))
    return code;
  if (floats_of(l->in) % l->groups)
    return fail_here(r, MAFAT_EFORMAT, "expects groups that divide its inputs");
  return output_like_input(r);
}

static int check_head_inputs(struct reader *r, long long channels)
{
  if (r->layer->in.c == channels) return output_like_input(r);
  return mafat_fail(r->d, MAFAT_EFORMAT,
                    "%s:%d: layer [%s] expects %lld input channels (boxes x (classes + coordinates + 1)), found %d",
                    r->cfg->path, r->section->line, r->section->type, channels, r->layer->in.c);
}

/* Reads anchors= into pairs; missing ones are 0.5, as in Darknet. */
static int read_anchors(struct reader *r, int total, float **pairs)
{
  float *given = NULL;
  int n = 0, code = mafat_cfg_floats(r->cfg, r->section, "anchors", &given, &n, r->d);
  if (code) return code;
  float *list = malloc((size_t)total * 2 * sizeof *list);
  if (!list) code = mafat_fail(r->d, MAFAT_ENOMEM, "%s: out of memory", r->cfg->path);
  for (int i = 0; list && i < 2 * total; i++) list[i] = i < n ? given[i] : .5f;
  if (n > 2 * total) {
    free(list);
    list = NULL;
    code = fail_here(r, MAFAT_EFORMAT, "has more anchors than num= allows");
  }
  free(given);
  *pairs = list;
  return code;
}

enum { MAX_BOXES = 4096, MAX_CLASSES = 1 << 20 };

static int read_region(struct reader *r)
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
      (code = get_bool(r, "background", &h->background)) ||
      (code = read_anchors(r, h->n_anchors, &h->anchors)))
    return code;
  return check_head_inputs(r, (long long)h->n_anchors * (h->classes + h->coords + 1));
}

static int select_anchors(struct reader *r, const float *all, int total)
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
    if (from < 0 || from >= total)
      code = fail_here(r, MAFAT_EFORMAT, "expects a mask of numbers below num=");
    else
      memcpy(&h->anchors[2 * i], &all[2 * from], 2 * sizeof *all);
  }
  free(mask);
  return code;
}

/* How boxes are suppressed; pjreddie's Darknet knows one way. */
static int get_nms(struct reader *r, struct mafat_head *h)
{
  h->beta_nms = .6f;
  if (r->network->fork == MAFAT_FORK_DARKNET) return MAFAT_OK;
  static const char *const kinds[] = {"default", "greedynms", "diounms"}; /* as enum mafat_nms */
  const struct mafat_cfg_option *o = mafat_cfg_find(r->section, "nms_kind");
  const char *kind = o ? o->value : kinds[MAFAT_NMS_IOU];
  int code = get_float(r, "beta_nms", &h->beta_nms);
  if (code) return code;
  for (int i = 0; i <= MAFAT_NMS_DIOU; i++)
    if (strcmp(kind, kinds[i]) == 0) {
      h->nms = (enum mafat_nms)i;
      return MAFAT_OK;
    }
  return mafat_fail(r->d, MAFAT_EUNSUPPORTED, "%s:%d: nms_kind=%.60s in [%s] is not supported", r->cfg->path, o->line, kind,
                    r->section->type);
}

static int read_yolo(struct reader *r)
{
  struct mafat_head *h = &r->layer->head;
  float *all = NULL;
  int total = 1, code;
  h->coords = 4;
  h->classes = 20;
  h->scale_xy = 1;
  if ((code = connect_to_previous(r)) || (code = get_nms(r, h)) ||
      (code = get_int(r, "classes", 1, MAX_CLASSES, &h->classes)) ||
      (code = get_int(r, "num", 1, MAX_BOXES, &total)) ||
      (code = get_float(r, "scale_x_y", &h->scale_xy)) ||
      (code = get_bool(r, "new_coords", &h->new_coords)) ||
      (code = read_anchors(r, total, &all)))
    return code;
  code = select_anchors(r, all, total);
  free(all);
  if (code) return code;
  return check_head_inputs(r, (long long)h->n_anchors * (h->classes + h->coords + 1));
}

static int read_detection(struct reader *r)
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
  if (h->coords != 4) return fail_here(r, MAFAT_EFORMAT, "expects coords=4");
  long long expected = (long long)h->side * h->side * ((1LL + h->coords) * h->n_anchors + h->classes);
  if (floats_of(r->layer->in) != expected)
    return mafat_fail(r->d, MAFAT_EFORMAT, "%s:%d: layer [detection] expects %lld inputs, found %lld",
                      r->cfg->path, r->section->line, expected, floats_of(r->layer->in));
  return output_like_input(r);
}

static const struct {
  const char *name;
  enum mafat_layer_type type;
  int (*read)(struct reader *r);
} section_types[] = {
    {"convolutional", MAFAT_CONVOLUTIONAL, read_convolutional},
    {"conv", MAFAT_CONVOLUTIONAL, read_convolutional},
    {"maxpool", MAFAT_MAXPOOL, read_maxpool},
    {"max", MAFAT_MAXPOOL, read_maxpool},
    {"avgpool", MAFAT_AVGPOOL, read_avgpool},
    {"avg", MAFAT_AVGPOOL, read_avgpool},
    {"route", MAFAT_ROUTE, read_route},
    {"shortcut", MAFAT_SHORTCUT, read_shortcut},
    {"upsample", MAFAT_UPSAMPLE, read_upsample},
    {"reorg", MAFAT_REORG, read_reorg},
    {"connected", MAFAT_CONNECTED, read_connected},
    {"conn", MAFAT_CONNECTED, read_connected},
    {"local", MAFAT_LOCAL, read_local},
    {"batchnorm", MAFAT_BATCHNORM, read_batchnorm},
    {"crop", MAFAT_CROP, read_crop},
    {"activation", MAFAT_ACTIVATION_LAYER, read_activation},
    {"dropout", MAFAT_DROPOUT, read_alias},
    {"cost", MAFAT_COST, read_alias},
    {"softmax", MAFAT_SOFTMAX, read_softmax},
    {"soft", MAFAT_SOFTMAX, read_softmax},
    {"region", MAFAT_REGION, read_region},
    {"yolo", MAFAT_YOLO, read_yolo},
    {"detection", MAFAT_DETECTION, read_detection},
};

int mafat_sections_read_layer(struct mafat_network *n, int index, struct mafat_cfg *cfg,
                              struct mafat_cfg_section *s, struct mafat_diagnostic *d)
{
  for (size_t i = 0; i < sizeof section_types / sizeof *section_types; i++) {
    if (strcmp(s->type, section_types[i].name) != 0) continue;
    struct reader r = {n, index, &n->layers[index], cfg, s, d};
    r.layer->type = section_types[i].type;
    r.layer->line = s->line;
    return section_types[i].read(&r);
  }
  return mafat_fail(d, MAFAT_EUNSUPPORTED, "%s:%d: layer [%.60s] is not supported", cfg->path,
                    s->line, s->type);
}

/* Sizes in place of the cfg's. */
static int resize_input(struct mafat_shape *shape, bool is_map, const struct mafat_darknet_wish *wish,
                        const struct mafat_cfg *cfg, struct mafat_diagnostic *d)
{
  if (!wish->width && !wish->height) return MAFAT_OK;
  if (!is_map)
    return mafat_fail(d, MAFAT_EINVAL, "%s: its input has no width and height to be changed", cfg->path);
  if (wish->width) shape->w = wish->width;
  if (wish->height) shape->h = wish->height;
  if (shape->w >= 1 && shape->h >= 1 && shape->w <= MAFAT_MAX_EXTENT && shape->h <= MAFAT_MAX_EXTENT) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EINVAL, "%s: expected an input of 1 to %d pixels a side, found %d x %d (height, width)",
                    cfg->path, MAFAT_MAX_EXTENT, shape->h, shape->w);
}

int mafat_sections_read_net(struct mafat_network *n, struct mafat_cfg *cfg, const struct mafat_darknet_wish *wish,
                            struct mafat_diagnostic *d)
{
  struct mafat_cfg_section *s = &cfg->sections[0];
  int code, letter_box = n->fork != MAFAT_FORK_ALEXEYAB, inputs = 0;
  struct mafat_shape shape = {0, 0, 0};
  if (strcmp(s->type, "net") != 0 && strcmp(s->type, "network") != 0)
    return mafat_fail(d, MAFAT_EFORMAT, "%s:%d: expected the first section to be [net], found [%.60s]",
                      cfg->path, s->line, s->type);
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
                      "%s:%d: [net] expects height, width and channels, found %d x %d x %d", cfg->path,
                      s->line, shape.h, shape.w, shape.c);
  else if (inputs > 0 && inputs != floats_of(shape))
    return mafat_fail(d, MAFAT_EFORMAT, "%s:%d: [net] has inputs=%d, but height x width x channels is %lld",
                      cfg->path, s->line, inputs, floats_of(shape));
  if ((code = resize_input(&shape, is_map, wish, cfg, d))) return code;
  if ((long long)shape.h * shape.w > INT_MAX / 4 || floats_of(shape) > (1LL << 40))
    return mafat_fail(d, MAFAT_EFORMAT, "%s:%d: [net] is too large: %d x %d x %d", cfg->path,
                      s->line, shape.h, shape.w, shape.c);
  n->input = shape;
  n->letterbox = letter_box != 0;
  return MAFAT_OK;
}

/* Keys of training, augmentation and display, which do not change an answer. */
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
    "unsupervised", "use_cuda_graph", "wait_stream", "weights_reject_freq",
    "workspace_size_limit_MB",
};

static bool is_training_key(const char *key)
{
  for (size_t i = 0; i < sizeof training_keys / sizeof *training_keys; i++)
    if (strcmp(key, training_keys[i]) == 0) return true;
  return false;
}

/* Darknet's `detector test` takes no letterbox off these boxes; its `yolo test`
 * stretches the picture, and so has nothing to take off. */
static void warn_of_letterbox(const struct mafat_cfg *cfg, const struct mafat_network *n,
                              const struct mafat_warning_sink *warnings)
{
  if (!n->letterbox || mafat_cfg_find(&cfg->sections[0], "letter_box")) return;
  for (int i = 1; i <= n->n_layers; i++)
    if (strcmp(cfg->sections[i].type, "detection") == 0)
      mafat_warn(warnings, "%s:%d: boxes of [detection] are as Darknet's detector test gives them, off where pictures are not "
                 "of the network's proportions; letter_box=0 in [net] stretches pictures, as its yolo test does",
                 cfg->path, cfg->sections[i].line);
}

void mafat_sections_warn_unknown(const struct mafat_cfg *cfg, const struct mafat_network *n,
                                 const struct mafat_warning_sink *warnings)
{
  warn_of_letterbox(cfg, n, warnings);
  for (int i = 0; i <= n->n_layers; i++)
    for (int j = 0; j < cfg->sections[i].n_options; j++) {
      const struct mafat_cfg_section *s = &cfg->sections[i];
      const struct mafat_cfg_option *o = &s->options[j];
      int first = 0;
      while (strcmp(s->options[first].key, o->key) != 0) first++;
      if (first < j)
        mafat_warn(warnings, "%s:%d: key %.60s in [%s] was given before: its first value counts",
                   cfg->path, o->line, o->key, s->type);
      else if (!o->used && !is_training_key(o->key))
        mafat_warn(warnings, "%s:%d: unknown key %.60s in [%s] is ignored", cfg->path, o->line,
                   o->key, cfg->sections[i].type);
    }
}
