#include "runner/marks.h"

void mafat_marks_begin(struct mafat_marks *m, const struct mafat_network *n, int fd)
{
  m->network = n;
  m->open = false;
  mafat_writer_open(&m->out, fd);
}

static void put_line(struct mafat_marks *m)
{
  const char *type = m->layer == MAFAT_INPUT ? "image" : mafat_layer_type_name(m->network->layers[m->layer].type);
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

void mafat_marks_step(void *context, const struct mafat_step *step, double from_ms, double to_ms)
{
  struct mafat_marks *m = context;
  if (m->open && m->layer != step->layer) put_line(m);
  if (!m->open) m->from_ms = from_ms;
  m->open = true;
  m->layer = step->layer;
  m->to_ms = to_ms;
}

int mafat_marks_end(struct mafat_marks *m, struct mafat_diagnostic *d)
{
  if (m->open) put_line(m);
  return mafat_writer_flush(&m->out, d);
}
