/* Runs models on floats and on files of elements, for the only input or for several by name:
 * implements a part of include/mafat.h. Called by api/model.c, programs/ and
 * darknet_patch/, and by the Python bindings. Reads files and runs the executor. */
#include "runner/os/process.h"
#include "api/footprint.h"
#include "api/model.h"
#include "api/ports.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- inputs ---- */

static size_t input_floats(const struct mafat_model *m, int index)
{
  return mafat_ports_floats(
      mafat_shape_elements(m->network->layers[m->network->n_layers + index].out));
}

static void forget_input(struct mafat_model_input *in)
{
  free(in->path);
  in->path = NULL;
  in->floats = NULL;
}

static int find_input(const struct mafat_model *m, const char *name, int *index,
                      struct mafat_diagnostic *d)
{
  struct mafat_ports ports = {m->network, m->n_layers};
  return mafat_ports_find(&ports, MAFAT_PORTS_IN, name, index, d);
}

static int check_floats(const struct mafat_model *m, int index, size_t n,
                        struct mafat_diagnostic *d)
{
  if (n == input_floats(m, index) && n != SIZE_MAX) return MAFAT_OK;
  if (m->network->n_inputs == 1)
    return mafat_fail(d, MAFAT_EINVAL, "%s: expected %zu floats of input, found %zu",
                      m->network->path, input_floats(m, index), n);
  return mafat_fail(d, MAFAT_EINVAL, "%s: input '%.100s': expected %zu floats, found %zu",
                    m->network->path, mafat_ports_input_name(m->network, index),
                    input_floats(m, index), n);
}

int mafat_model_set_input(struct mafat_model *m, const char *name, const float *floats, size_t n,
                          struct mafat_diagnostic *d)
{
  int index, code = find_input(m, name, &index, d);
  if (code == MAFAT_OK && floats) code = check_floats(m, index, n, d);
  if (code) return code;
  forget_input(&m->inputs[index]);
  m->inputs[index].floats = floats;
  return MAFAT_OK;
}

int mafat_model_set_input_file(struct mafat_model *m, const char *name, const char *path,
                               struct mafat_diagnostic *d)
{
  int index, code = find_input(m, name, &index, d);
  if (code) return code;
  char *copy = path ? strdup(path) : NULL;
  if (path && !copy) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", m->network->path);
  forget_input(&m->inputs[index]);
  m->inputs[index].path = copy;
  return MAFAT_OK;
}

/* ---- runs ---- */

static int open_file(struct mafat_model *m, int index, const char *path, struct mafat_diagnostic *d)
{
  struct mafat_raw_input *raw = &m->inputs[index].raw;
  raw->keeps_memory = !mafat_layout_takes_rows(m->choice.layout);
  int code = mafat_raw_input_open(raw, path, index, &m->inputs[index].order, d);
  if (code == MAFAT_OK) mafat_executor_set_source(m->executor, index, mafat_raw_input_source(raw));
  return code;
}

int mafat_model_open_inputs(struct mafat_model *m, int first, struct mafat_diagnostic *d)
{
  int code = MAFAT_OK;
  for (int i = first; code == MAFAT_OK && i < m->network->n_inputs; i++) {
    const struct mafat_model_input *in = &m->inputs[i];
    if (in->floats) mafat_executor_set_floats(m->executor, i, &in->order, in->floats);
    else if (in->path) code = open_file(m, i, in->path, d);
    else
      code = mafat_fail(d, MAFAT_EINVAL, "%s: input '%.100s' was not set", m->network->path,
                        mafat_ports_input_name(m->network, i));
  }
  return code;
}

void mafat_model_close_inputs(struct mafat_model *m)
{
  for (int i = 0; i < m->network->n_inputs; i++) mafat_raw_input_close(&m->inputs[i].raw);
}

/* Checks that reading the inputs' files fits the budget. path: for the message. */
static int take_file(struct mafat_model *m, const char *path, struct mafat_diagnostic *d)
{
  struct mafat_footprint footprint = m->footprint;
  mafat_footprint_set_floats(&footprint, m->network);
  return mafat_model_take_footprint(m, &footprint, path, "reading floats", d);
}

int mafat_model_run_inputs(struct mafat_model *m, struct mafat_diagnostic *d)
{
  double before = mafat_process_now_ms();
  const char *path = NULL;
  for (int i = m->network->n_inputs; i-- > 0;)
    if (m->inputs[i].path) path = m->inputs[i].path;
  int code = mafat_model_begin_run(m, m, "inputs", d);
  if (code == MAFAT_OK && path) code = take_file(m, path, d);
  if (code == MAFAT_OK) code = mafat_model_open_inputs(m, 0, d);
  if (code == MAFAT_OK) {
    mafat_model_forget_picture(m);
    code = mafat_model_run_opened(m, before, d);
  }
  mafat_model_close_inputs(m);
  return code;
}

int mafat_model_run_raw(struct mafat_model *m, const char *path, struct mafat_diagnostic *d)
{
  double before = mafat_process_now_ms();
  int code = mafat_model_begin_run(m, path, "a path of floats", d);
  if (code == MAFAT_OK) code = take_file(m, path, d);
  if (code == MAFAT_OK) code = mafat_model_open_inputs(m, 1, d);
  if (code == MAFAT_OK) code = open_file(m, 0, path, d);
  if (code == MAFAT_OK) {
    mafat_model_forget_picture(m);
    code = mafat_model_run_opened(m, before, d);
  }
  mafat_model_close_inputs(m);
  return code;
}

int mafat_model_run_floats(struct mafat_model *m, const float *chw, size_t n,
                           struct mafat_diagnostic *d)
{
  int code = mafat_model_begin_run(m, chw, "floats", d);
  if (code == MAFAT_OK) code = check_floats(m, 0, n, d);
  if (code == MAFAT_OK) code = mafat_model_open_inputs(m, 1, d);
  if (code == MAFAT_OK) {
    mafat_model_forget_picture(m);
    mafat_executor_set_floats(m->executor, 0, &m->inputs[0].order, chw);
    code = mafat_model_run_opened(m, mafat_process_now_ms(), d);
  }
  mafat_model_close_inputs(m);
  return code;
}
