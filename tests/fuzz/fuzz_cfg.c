/* libFuzzer target: reads any bytes as a Darknet cfg. If that gives a network, checks it, plans
 * it and makes the plan's memory layout. Build with clang -fsanitize=fuzzer,address,undefined. */
#include <stdint.h>
#include <stdlib.h>

#include "formats/darknet/darknet.h"
#include "predictor/layout/layout.h"
#include "predictor/plan/packing.h"
#include "predictor/planning/planning.h"
#include "tests/fuzz/bounded.h"
#include "tests/fuzz/mutate.h"

static void require(bool holds)
{
  if (!holds) abort();
}

static void check_operand(const struct mafat_network *n, int layer, int operand)
{
  const struct mafat_layer *l = &n->layers[layer];
  const struct mafat_operand *o = &l->operands[operand];
  const struct mafat_infer_context context = {n->path, l->line, layer,
                                              mafat_layer_type_name(l->type), NULL};
  require(mafat_network_check_operand(n, layer, operand, &context) == MAFAT_OK);
  for (int i = 0; i < mafat_sources_count(&o->sources); i++) {
    const struct mafat_source *s = &o->sources.list[i];
    require((s->tensor >= n->n_layers) == mafat_layer_is_input(&n->layers[s->tensor]));
    require(s->first_row == 0 && /* sources of a cfg are whole maps */
            s->n_rows == mafat_network_tensor_shape(n, s->tensor).h);
  }
  struct mafat_span y = mafat_layer_in_span(l, operand, true, mafat_span(0, l->out.h));
  struct mafat_span x = mafat_layer_in_span(l, operand, false, mafat_span(0, l->out.w));
  require(y.begin >= 0 && y.end <= o->shape.h && x.begin >= 0 && x.end <= o->shape.w);
}

static void check_network(const struct mafat_network *n)
{
  require(n->n_layers >= 1 && n->n_layers <= MAFAT_MAX_LAYERS);
  for (int i = 0; i < n->n_layers; i++) {
    const struct mafat_layer *l = &n->layers[i];
    require(l->out.h > 0 && l->out.w > 0 && l->out.c > 0 && l->n_operands > 0);
    for (int k = 0; k < l->n_operands; k++) check_operand(n, i, k);
  }
}

static void lay_out(const struct mafat_network *n, const char *text)
{
  struct mafat_diagnostic d = {""};
  struct mafat_plan *plan = NULL;
  struct mafat_layout *layout = NULL;
  int code = mafat_plan_read(&plan, text, n, n->n_layers, NULL, &d);
  if (code == MAFAT_OK) code = mafat_layout_make(&layout, n, plan, &d);
  require(code == MAFAT_OK || d.text[0]);
  require(!layout || (layout->total_bytes >= layout->bound_bytes && layout->total_bytes % 64 == 0));
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
  struct mafat_diagnostic d = {""};
  struct mafat_cfg *cfg = NULL;
  struct mafat_network *network = NULL;
  bounded_begin();
  int code = mafat_cfg_parse(&cfg, "fuzz", (const char *)bytes, n, &d);
  if (code == MAFAT_OK) code = mafat_darknet_make(&network, cfg, NULL, NULL, &d);
  bounded_end(TEST_READER_CFG, n);
  require((code == MAFAT_OK) == (network != NULL));
  require(code == MAFAT_OK || d.text[0]);
  if (network) {
    check_network(network);
    mafat_packed_bytes(network, network->n_layers);
    lay_out(network, "1x1/NoCut");
    lay_out(network, "2x3");
    lay_out(network, "2x2:balanced");
  }
  mafat_network_close(&network);
  mafat_cfg_close(&cfg);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed)
{
  return mutate_cfg(data, n, most, seed);
}
