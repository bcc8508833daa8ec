/* Implements --calibrate: measures this machine through mafat_calibrate(), which stores the result
 * in a file; then prints the result. Called by run_inference.c. Shows progress on standard
 * error. */
#include "programs/shared/progress.h"
#include "programs/run_inference/session.h"

#include <stdio.h>

static void print_progress(void *context, double share)
{
  (void)context;
  mafat_progress_show(share);
}

static void write_found(const struct mafat_calibration_facts *c, struct mafat_writer *w)
{
  char text[2048];
  snprintf(text, sizeof text,
           "%s kernels, one thread:\n"
           "  3x3 and larger    %8.1f GFLOP/s\n"
           "  1x1               %8.1f GFLOP/s\n"
           "  Winograd products %8.1f GFLOP/s (of a direct convolution: %.1f)\n"
           "  depthwise         %8.1f GFLOP/s\n"
           "memory: maps %.1f GB/s read, %.1f GB/s written; weights %.1f GB/s\n"
           "disk: %.2f GB/s, %.0f us for a read; %.1f us of the processor for each\n"
           "weights taken in: %.1f GB/s from a packed file, %.1f GB/s from Darknet's\n"
           "a step of several threads: %.1f us more\n"
           "median error of a layer: %.1f %%\n",
           c->cpu, c->conv_gflops, c->point_gflops, c->winograd_gflops, c->winograd_direct_gflops,
           c->depthwise_gflops, c->map_read_gbs, c->map_write_gbs, c->weights_gbs, c->disk_gbs,
           c->disk_wait_us, c->read_us, c->packed_gbs, c->darknet_gbs, c->thread_step_us,
           c->fit_error * 100);
  mafat_writer_put(w, text);
  mafat_writer_put(w, "kept in ");
  mafat_writer_put_plain(w, c->path);
  mafat_writer_put(w, "\n");
}

int mafat_session_calibrate(struct mafat_session *s)
{
  const struct mafat_options *o = &s->options;
  struct mafat_calibrate_options c = {.size = sizeof c};
  struct mafat_calibration_facts found = {.size = sizeof found};
  c.cpu = o->cpu;
  c.memory_bytes = o->memory.list[0];
  c.progress = print_progress;
  c.warnings = (struct mafat_warning_sink){mafat_session_warn, s};
  mafat_progress_begin("measuring this machine", o->quiet);
  int code = mafat_calibrate(&found, &c, &s->d);
  mafat_progress_end();
  if (code == MAFAT_OK) {
    write_found(&found, &s->out);
    if (mafat_writer_flush(&s->out, &s->d) == MAFAT_OK) return 0;
  }
  mafat_session_complain(s->d.text);
  return code == MAFAT_ELIMIT ? EXIT_DOES_NOT_FIT : EXIT_RUNNING;
}
