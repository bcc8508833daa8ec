/* Reads networks from .cfg files. Called by formats/readers.c through mafat_darknet_reader, which
 * is in its table of formats, and by files that need a cfg: formats/packed/network.c,
 * api/packing/pack.c, programs/make_weights, runner/calibrate and darknet_patch/bridge.c. Reads the
 * file and allocates the network, which the caller closes. */
#include "formats/darknet/darknet.h"

#include "base/part.h"
#include "formats/darknet/constants.h"
#include "formats/darknet/fork.h"
#include "formats/darknet/sections.h"
#include "include/mafat_plan.h"

#include <stdlib.h>
#include <string.h>

/* Allocates a network with room for the cfg's layers and its input; none is read yet. */
static int begin(struct mafat_network **out, const struct mafat_cfg *cfg,
                 struct mafat_diagnostic *d)
{
  *out = NULL;
  if (cfg->n_sections - 1 > MAFAT_MAX_LAYERS)
    return mafat_fail(d, MAFAT_EFORMAT, "%s: expected at most %d layers, found %d", cfg->path,
                      MAFAT_MAX_LAYERS, cfg->n_sections - 1);
  size_t bytes = (size_t)cfg->n_sections *
                 (sizeof(struct mafat_layer) + sizeof(struct mafat_layer_constants));
  struct mafat_network *n =
      mafat_allowance_keep(cfg->allowance, bytes) ? calloc(1, sizeof *n) : NULL;
  if (n) n->path = strdup(cfg->path);
  if (n) n->layers = calloc((size_t)cfg->n_sections, sizeof *n->layers);
  if (n && n->path && n->layers) {
    n->n_layers = cfg->n_sections - 1;
    n->n_inputs = 1;
    *out = n;
    return MAFAT_OK;
  }
  mafat_network_close(&n);
  return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", cfg->path);
}

/* Reads the input, and layers up to the first that fails. *known: number of layers read. */
static int read_sections(struct mafat_network *n, struct mafat_cfg *cfg,
                         const struct mafat_darknet_overrides *overrides, int *known,
                         struct mafat_diagnostic *d)
{
  n->fork =
      overrides->fork ? overrides->fork : mafat_fork_decide(cfg, n->fork_sign, sizeof n->fork_sign);
  int code = mafat_sections_read_net(n, cfg, overrides->width, overrides->height, d);
  *known = 0;
  if (code == MAFAT_OK && n->n_layers == 0)
    code = mafat_fail(d, MAFAT_EFORMAT, "%s: expected layers after [net], found none", cfg->path);
  while (code == MAFAT_OK && *known < n->n_layers) {
    code = mafat_sections_read_layer(n, *known, cfg, &cfg->sections[*known + 1], d);
    if (code == MAFAT_OK) ++*known;
  }
  return code;
}

int mafat_darknet_make(struct mafat_network **out, struct mafat_cfg *cfg,
                       const struct mafat_darknet_overrides *overrides,
                       const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d)
{
  static const struct mafat_darknet_overrides as_it_is;
  struct mafat_network *n;
  int known;
  *out = NULL;
  if (!overrides) overrides = &as_it_is;
  int code = begin(&n, cfg, d);
  if (code) return code;
  code = read_sections(n, cfg, overrides, &known, d);
  if (code && code != MAFAT_ENOMEM && overrides->n_layers > 0 && known >= overrides->n_layers) {
    mafat_network_shorten(n, overrides->n_layers);
    n->cut = true;
    code = MAFAT_OK;
  }
  if (code == MAFAT_OK && mafat_darknet_constants(&n->constants, n, NULL) != MAFAT_OK)
    code = mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", cfg->path);
  if (code == MAFAT_OK) mafat_sections_warn_unknown(cfg, n, warnings);
  if (code == MAFAT_OK) *out = n;
  else mafat_network_close(&n);
  return code;
}

int mafat_darknet_read(struct mafat_network **out, const char *path,
                       const struct mafat_darknet_overrides *overrides,
                       const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d)
{
  struct mafat_cfg *cfg = NULL;
  *out = NULL;
  int code = mafat_cfg_read(&cfg, path, d);
  if (code == MAFAT_OK) code = mafat_darknet_make(out, cfg, overrides, warnings, d);
  mafat_cfg_close(&cfg);
  return code;
}

int mafat_cfg_known_layers(const char *path, int *known, int *all, struct mafat_diagnostic *why)
{
  static const struct mafat_darknet_overrides as_it_is;
  struct mafat_cfg *cfg = NULL;
  struct mafat_network *n = NULL;
  *known = *all = 0;
  int code = mafat_cfg_read(&cfg, path, why);
  if (code == MAFAT_OK) code = begin(&n, cfg, why);
  if (code == MAFAT_OK) {
    code = read_sections(n, cfg, &as_it_is, known, why);
    if (code == MAFAT_EUNSUPPORTED) code = MAFAT_OK;
    if (code == MAFAT_OK) *all = n->n_layers;
    else *known = 0;
  }
  mafat_network_close(&n);
  mafat_cfg_close(&cfg);
  return code;
}

/* ---- the format ---- */

static bool begins(const char beginning[MAFAT_SOURCE_BEGINNING])
{
  (void)beginning;
  return true; /* a cfg has no magic number: any file is accepted */
}

static int read_source(struct mafat_network **out, struct mafat_model_source *source,
                       const struct mafat_reading *how, struct mafat_diagnostic *d)
{
  struct mafat_cfg *cfg = NULL;
  int code = mafat_cfg_read_source(&cfg, source, d);
  if (code == MAFAT_OK) code = mafat_darknet_make(out, cfg, how->overrides, how->warnings, d);
  mafat_cfg_close(&cfg);
  return code;
}

/* Reads from a weights file's header whether connected layers are stored transposed. */
MAFAT_PART(run)
static void describe(struct mafat_weights_kind *kind, const char beginning[MAFAT_SOURCE_BEGINNING])
{
  struct mafat_darknet_header header = {0, false};
  mafat_darknet_header_read(&header, beginning, MAFAT_SOURCE_BEGINNING, "", NULL);
  kind->transposed = header.transposed;
}

const struct mafat_reader mafat_darknet_reader = {
    .format = {.name = "darknet"}, .begins = begins, .network = read_source, .describe = describe};
