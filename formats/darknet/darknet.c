#include "formats/darknet/darknet.h"

#include "formats/darknet/constants.h"
#include "formats/darknet/fork.h"
#include "formats/darknet/sections.h"

#include <stdlib.h>
#include <string.h>

/* A network without layers yet, with room for all of the cfg's. */
static int begin(struct mafat_network **out, const struct mafat_cfg *cfg, struct mafat_diagnostic *d)
{
  *out = NULL;
  if (cfg->n_sections - 1 > MAFAT_MAX_LAYERS)
    return mafat_fail(d, MAFAT_EFORMAT, "%s: expected at most %d layers, found %d", cfg->path, MAFAT_MAX_LAYERS,
                      cfg->n_sections - 1);
  struct mafat_network *n = calloc(1, sizeof *n);
  if (n) n->path = strdup(cfg->path);
  if (n) n->layers = calloc((size_t)(cfg->n_sections > 1 ? cfg->n_sections - 1 : 1), sizeof *n->layers);
  if (n && n->path && n->layers) {
    *out = n;
    return MAFAT_OK;
  }
  mafat_network_close(&n);
  return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", cfg->path);
}

/* As many layers as can be read; after a failure the last of them is the one that cannot. */
static int read_sections(struct mafat_network *n, struct mafat_cfg *cfg, const struct mafat_darknet_wish *wish,
                         struct mafat_diagnostic *d)
{
  n->fork = wish->fork ? wish->fork : mafat_fork_decide(cfg, n->fork_sign, sizeof n->fork_sign);
  int code = mafat_sections_read_net(n, cfg, wish->width, wish->height, d);
  for (int i = 1; i < cfg->n_sections && code == MAFAT_OK; i++) {
    n->n_layers = i; /* so that a failing layer is released too */
    code = mafat_sections_read_layer(n, i - 1, cfg, &cfg->sections[i], d);
  }
  if (code == MAFAT_OK && n->n_layers == 0)
    code = mafat_fail(d, MAFAT_EFORMAT, "%s: expected layers after [net], found none", cfg->path);
  return code;
}

int mafat_darknet_make(struct mafat_network **out, struct mafat_cfg *cfg, const struct mafat_darknet_wish *wish,
                          const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d)
{
  static const struct mafat_darknet_wish as_it_is;
  struct mafat_network *n;
  *out = NULL;
  if (!wish) wish = &as_it_is;
  int code = begin(&n, cfg, d);
  if (code) return code;
  code = read_sections(n, cfg, wish, d);
  if (code && code != MAFAT_ENOMEM && wish->n_layers > 0 && n->n_layers > wish->n_layers) {
    mafat_network_shorten(n, wish->n_layers);
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

int mafat_darknet_read(struct mafat_network **out, const char *path, const struct mafat_darknet_wish *wish,
                          const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d)
{
  struct mafat_cfg *cfg = NULL;
  *out = NULL;
  int code = mafat_cfg_read(&cfg, path, d);
  if (code == MAFAT_OK) code = mafat_darknet_make(out, cfg, wish, warnings, d);
  mafat_cfg_close(&cfg);
  return code;
}

int mafat_cfg_known_layers(const char *path, int *known, int *all, struct mafat_diagnostic *why)
{
  static const struct mafat_darknet_wish as_it_is;
  struct mafat_cfg *cfg = NULL;
  struct mafat_network *n = NULL;
  *known = *all = 0;
  int code = mafat_cfg_read(&cfg, path, why);
  if (code == MAFAT_OK) code = begin(&n, cfg, why);
  if (code == MAFAT_OK) {
    code = read_sections(n, cfg, &as_it_is, why);
    bool unknown = code == MAFAT_EUNSUPPORTED && n->n_layers > 0;
    if (unknown) code = MAFAT_OK;
    if (code == MAFAT_OK) {
      *all = cfg->n_sections - 1;
      *known = n->n_layers - unknown;
    }
  }
  mafat_network_close(&n);
  mafat_cfg_close(&cfg);
  return code;
}
