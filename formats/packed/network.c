/* Reads the network of a packed file. Called by formats/readers.c through mafat_packed_reader and
 * mafat_packed_graph_reader, and by api/ (model.c, dry_run.c). Reads the file; allocates the
 * network, which the caller closes. */
#include "base/part.h"
#include "formats/darknet/darknet.h"
#include "formats/packed/graph.h"
#include "formats/packed/packed.h"

#include <stdlib.h>

/* Switches the layers that the file lists to integer arithmetic. */
static int apply_activations(struct mafat_network *n, const struct mafat_packed *packed,
                             const char *path, struct mafat_diagnostic *d)
{
  if (!packed->activations) return MAFAT_OK;
  struct mafat_activations_places *places =
      calloc((size_t)mafat_network_n_tensors(n), sizeof *places);
  int code = places ? mafat_activations_apply(n, packed->activations, true, places, path, d)
                    : mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", path);
  free(places);
  return code;
}

static int keep_state(struct mafat_network *n, const struct mafat_file_state *opened,
                      struct mafat_diagnostic *d)
{
  if (!n->states) n->states = malloc(sizeof *n->states);
  if (!n->states) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", n->path);
  n->states[0] = *opened;
  return MAFAT_OK;
}

static int read_cfg(struct mafat_network **out, const struct mafat_packed *packed, const char *path,
                    const struct mafat_reading *how, struct mafat_diagnostic *d)
{
  if (!packed->graph)
    return mafat_fail(
        d, MAFAT_EFORMAT,
        "%s: holds weights without their network: it is run with the cfg that it was made "
        "from, or packed again",
        path);
  struct mafat_darknet_overrides own =
      how->overrides ? *how->overrides : (struct mafat_darknet_overrides){.fork = MAFAT_FORK_AUTO};
  if (own.fork == MAFAT_FORK_AUTO) own.fork = packed->fork;
  return mafat_darknet_make(out, packed->graph, &own, how->warnings, d);
}

int mafat_packed_network(struct mafat_network **out, struct mafat_model_source *source,
                         const struct mafat_reading *how, struct mafat_diagnostic *d)
{
  const char *path = source->path;
  struct mafat_packed *packed = NULL;
  *out = NULL;
  int code = mafat_model_source_check_regular(source, ": weights are not read in order", d);
  if (code == MAFAT_OK) code = mafat_packed_open(&packed, source, NULL, true, d);
  if (code == MAFAT_OK)
    code = packed->embedded_graph ? mafat_packed_graph_network(out, packed, source, d)
                                  : read_cfg(out, packed, path, how, d);
  if (code == MAFAT_OK) code = keep_state(*out, &source->state, d);
  if (code == MAFAT_OK) code = apply_activations(*out, packed, path, d);
  if (code == MAFAT_OK) code = mafat_packed_give_types(packed, *out, path, d);
  if (code == MAFAT_OK) (*out)->stored = packed->options;
  if (code) mafat_network_close(out);
  mafat_packed_close(&packed);
  return code;
}

int mafat_packed_types(struct mafat_network *n, struct mafat_model_source *source,
                       struct mafat_diagnostic *d)
{
  struct mafat_packed *packed = NULL;
  if (source->bytes <= MAFAT_PACKED_HEADER) return MAFAT_OK;
  int code = mafat_packed_open(&packed, source, n, false, d);
  if (code == MAFAT_OK) code = mafat_packed_give_types(packed, n, source->path, d);
  if (code == MAFAT_OK) n->stored = packed->options;
  mafat_packed_close(&packed);
  return code;
}

/* ---- the format ---- */

static bool begins(const char beginning[MAFAT_SOURCE_BEGINNING])
{
  return mafat_packed_begins(beginning);
}

static bool begins_with_graph(const char beginning[MAFAT_SOURCE_BEGINNING])
{
  return mafat_packed_imports(beginning);
}

MAFAT_PART(run)
static void describe(struct mafat_weights_kind *kind, const char beginning[MAFAT_SOURCE_BEGINNING])
{
  (void)beginning;
  kind->packed = true;
}

/* Packed files with a cfg. */
const struct mafat_reader mafat_packed_reader = {.format = {.name = "packed"},
                                                 .holds_weights = true,
                                                 .begins = begins,
                                                 .network = mafat_packed_network,
                                                 .describe = describe};

/* Packed files with an embedded graph. */
const struct mafat_reader mafat_packed_graph_reader = {.format = {.name = "packed"},
                                                       .holds_weights = true,
                                                       .imports = true,
                                                       .begins = begins_with_graph,
                                                       .network = mafat_packed_network,
                                                       .describe = describe};
