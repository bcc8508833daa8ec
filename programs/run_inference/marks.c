/* Writes the times of layers for --marks to an open file. Called by run_inference.c; the model
 * calls mafat_marks_step() for each step, through mafat_model_set_watch(). */
#include "programs/run_inference/marks.h"

void mafat_marks_begin(struct mafat_marks *m, const struct mafat_model *model, int fd)
{
  m->model = model;
  m->open = false;
  mafat_writer_open(&m->out, fd);
}

static void put_line(struct mafat_marks *m)
{
  struct mafat_layer_facts layer = {.size = sizeof layer};
  const char *type =
      mafat_model_layer(m->model, m->layer, &layer) == MAFAT_OK ? layer.type : "image";
  mafat_writer_put_integer(&m->out, m->layer);
  mafat_writer_put(&m->out, " ");
  mafat_writer_put(&m->out, type);
  mafat_writer_put(&m->out, " ");
  mafat_writer_put_fixed(&m->out, m->from_ms * 1e6, 0);
  mafat_writer_put(&m->out, " ");
  mafat_writer_put_fixed(&m->out, m->to_ms * 1e6, 0);
  mafat_writer_put(&m->out, "\n");
  m->open = false;
}

void mafat_marks_step(void *context, const struct mafat_step_facts *step)
{
  struct mafat_marks *m = context;
  if (m->open && m->layer != step->layer) put_line(m);
  if (!m->open) m->from_ms = step->from_ms;
  m->open = true;
  m->layer = step->layer;
  m->to_ms = step->to_ms;
}

int mafat_marks_end(struct mafat_marks *m, struct mafat_diagnostic *d)
{
  if (m->open) put_line(m);
  return mafat_writer_flush(&m->out, d);
}
