/* Makes fixed networks from the texts of cfgs, and aborts a fuzz target whose check fails.
 * Included by fuzz targets, imported.h and ways.h. */
#ifndef MAFAT_TESTS_FUZZ_NETWORKS_H
#define MAFAT_TESTS_FUZZ_NETWORKS_H

#include "formats/darknet/darknet.h"
#include "network/network.h"

#include <stdlib.h>
#include <string.h>

/* Aborts if the condition is false; libFuzzer then saves the input. */
static inline void require(bool holds)
{
  if (!holds) abort();
}

/* Makes networks[i] from the text cfgs[i]. */
static inline void make_networks(const char *const *cfgs, int n, struct mafat_network **networks)
{
  for (int i = 0; i < n; i++) {
    struct mafat_cfg *cfg = NULL;
    require(mafat_cfg_parse(&cfg, "fuzz", cfgs[i], strlen(cfgs[i]), NULL) == MAFAT_OK);
    require(mafat_darknet_make(&networks[i], cfg, NULL, NULL, NULL) == MAFAT_OK);
    mafat_cfg_close(&cfg);
  }
}

#endif
