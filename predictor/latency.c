#include "predictor/latency.h"

int mafat_latency_predict(struct mafat_latency *out, const struct mafat_network *n, const struct mafat_plan *plan,
                          const struct mafat_layout *layout, const struct mafat_calibration *c)
{
  (void)n;
  (void)plan;
  (void)c;
  out->compute_ms = (double)layout->padded_macs / 57e6;
  out->reading_ms = (double)layout->bytes_read / 2e6;
  out->total_ms = out->compute_ms > out->reading_ms ? out->compute_ms : out->reading_ms;
  return MAFAT_OK;
}
