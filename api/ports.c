/* Finds and describes inputs and outputs by name, and reads outputs. Called by api/ and, through
 * include/mafat.h, by programs/run_inference and the Python bindings. While it reads an output, no
 * other model can run in the same arena. */
#include "api/ports.h"

#include "api/model.h"
#include "base/sized.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool has_outputs(const struct mafat_ports *p)
{
  return p->network->outputs && p->n_layers == p->network->n_layers;
}

size_t mafat_ports_floats(long long elements)
{
  return (unsigned long long)elements > SIZE_MAX / sizeof(float) ? SIZE_MAX : (size_t)elements;
}

int mafat_ports_count(const struct mafat_ports *p, enum mafat_ports_side side)
{
  if (side == MAFAT_PORTS_IN) return p->network->n_inputs;
  return has_outputs(p) ? p->network->n_outputs : 1;
}

const char *mafat_ports_input_name(const struct mafat_network *n, int index)
{
  return n->inputs ? n->inputs[index].name : "data";
}

static const char *name_of(const struct mafat_ports *p, enum mafat_ports_side side, int index)
{
  if (side == MAFAT_PORTS_IN) return mafat_ports_input_name(p->network, index);
  return has_outputs(p) ? p->network->outputs[index].name : "output";
}

/* Formats the names of all ports: "'a', 'b'". */
static void list_names(const struct mafat_ports *p, enum mafat_ports_side side, char *text,
                       size_t capacity)
{
  size_t n = 0;
  text[0] = '\0';
  for (int i = 0; i < mafat_ports_count(p, side) && n < capacity; i++)
    n += (size_t)snprintf(text + n, capacity - n, "%s'%.60s'", i ? ", " : "", name_of(p, side, i));
}

int mafat_ports_find(const struct mafat_ports *p, enum mafat_ports_side side, const char *name,
                     int *index, struct mafat_diagnostic *d)
{
  int n = mafat_ports_count(p, side);
  char names[240];
  *index = 0;
  if (!name && n == 1) return MAFAT_OK;
  for (int i = 0; name && i < n; i++)
    if (strcmp(name, name_of(p, side, i)) == 0) {
      *index = i;
      return MAFAT_OK;
    }
  const char *what = side == MAFAT_PORTS_IN ? "input" : "output";
  list_names(p, side, names, sizeof names);
  if (name)
    return mafat_fail(d, MAFAT_EINVAL, "%s: no %s is called '%.60s': expected %s", p->network->path,
                      what, name, names);
  return mafat_fail(d, MAFAT_EINVAL, "%s: expected the name of one of %d %ss: %s", p->network->path,
                    n, what, names);
}

void mafat_ports_output_view(const struct mafat_ports *p, int index, struct mafat_view *view)
{
  if (has_outputs(p)) *view = p->network->outputs[index].view;
  else mafat_view_planes(view, p->network->layers[p->n_layers - 1].out);
}

struct mafat_sources mafat_ports_output_sources(const struct mafat_ports *p, int index,
                                                struct mafat_source *self)
{
  return has_outputs(p) ? p->network->outputs[index].sources
                        : mafat_network_output_sources(p->network, p->n_layers - 1, self);
}

/* Name of the type that callers see. Outputs are read as floats, whatever their type in the
 * file. */
static const char *type_of(const struct mafat_network *n, enum mafat_ports_side side, int index)
{
  return mafat_dtype_name(side == MAFAT_PORTS_IN && n->inputs ? n->inputs[index].type : MAFAT_F32);
}

/* Fills scale and zero point of an 8-bit port, with the zero point as in the file. */
static void describe_numbers(const struct mafat_ports *p, enum mafat_ports_side side, int index,
                             struct mafat_port_facts *f)
{
  const struct mafat_network *n = p->network;
  if (side == MAFAT_PORTS_OUT && !has_outputs(p)) return;
  const struct mafat_port *port = side == MAFAT_PORTS_IN ? &n->inputs[index] : &n->outputs[index];
  int tensor = port->sources.list[0].tensor;
  const struct mafat_quantization *q = mafat_network_tensor_quantization(n, tensor);
  if (mafat_network_tensor_type(n, tensor) == MAFAT_F32) return;
  f->scale = (double)q->scale;
  f->zero = q->zero - (port->type == MAFAT_I8 ? MAFAT_SIGNED_TO_BYTE : 0);
}

int mafat_ports_describe(const struct mafat_ports *p, enum mafat_ports_side side, int index,
                         struct mafat_port_facts *out)
{
  struct mafat_view view;
  const struct mafat_network *n = p->network;
  if (index < 0 || index >= mafat_ports_count(p, side)) return MAFAT_EINVAL;
  if (side == MAFAT_PORTS_OUT) mafat_ports_output_view(p, index, &view);
  else if (n->inputs) view = n->inputs[index].view;
  else mafat_view_planes(&view, n->layers[n->n_layers + index].out);
  struct mafat_port_facts f = {.name = name_of(p, side, index),
                               .type = type_of(n, side, index),
                               .rank = view.n_dims,
                               .n = mafat_ports_floats(mafat_view_elements(&view))};
  for (int i = 0; i < view.n_dims; i++) f.dims[i] = (int64_t)view.dims[i];
  if (side == MAFAT_PORTS_OUT || n->inputs) describe_numbers(p, side, index, &f);
  return mafat_sized_give(out, &f, sizeof f);
}

/* ---- ports of models ---- */

static struct mafat_ports of_model(const struct mafat_model *m)
{
  return (struct mafat_ports){m->network, m->n_layers};
}

int mafat_model_describe_input(const struct mafat_model *m, int index, struct mafat_port_facts *out)
{
  const struct mafat_ports p = of_model(m);
  return mafat_ports_describe(&p, MAFAT_PORTS_IN, index, out);
}

int mafat_model_describe_output(const struct mafat_model *m, int index,
                                struct mafat_port_facts *out)
{
  const struct mafat_ports p = of_model(m);
  return mafat_ports_describe(&p, MAFAT_PORTS_OUT, index, out);
}

/* ---- outputs after a run ---- */

int mafat_model_read_output_part(const struct mafat_model *m, const char *name, size_t first,
                                 float *floats, size_t n, struct mafat_diagnostic *d)
{
  struct mafat_ports p = of_model(m);
  struct mafat_view view;
  struct mafat_source self;
  int index, code = mafat_ports_find(&p, MAFAT_PORTS_OUT, name, &index, d);
  if (code) return code;
  mafat_ports_output_view(&p, index, &view);
  size_t all = mafat_ports_floats(mafat_view_elements(&view));
  if (first > all || n > all - first)
    return mafat_fail(
        d, MAFAT_EINVAL,
        "%s: output '%.100s': expected at most %zu floats, found %zu from number %zu on",
        m->network->path, name_of(&p, MAFAT_PORTS_OUT, index), all, n, first);
  if ((code = mafat_model_hold_output(m, d))) return code;
  struct mafat_sources sources = mafat_ports_output_sources(&p, index, &self);
  mafat_executor_read_view(m->executor, &sources, &view, (long long)first, (long long)n, floats);
  mafat_executor_unhold_output(m->executor);
  return MAFAT_OK;
}

int mafat_model_read_output(const struct mafat_model *m, const char *name, float *floats, size_t n,
                            struct mafat_diagnostic *d)
{
  struct mafat_ports p = of_model(m);
  struct mafat_view view;
  int index, code = mafat_ports_find(&p, MAFAT_PORTS_OUT, name, &index, d);
  if (code) return code;
  mafat_ports_output_view(&p, index, &view);
  size_t all = mafat_ports_floats(mafat_view_elements(&view));
  if (n != all || n == SIZE_MAX)
    return mafat_fail(d, MAFAT_EINVAL,
                      "%s: output '%.100s': expected room for %zu floats, found %zu",
                      m->network->path, name_of(&p, MAFAT_PORTS_OUT, index), all, n);
  return mafat_model_read_output_part(m, name, 0, floats, n, d);
}
