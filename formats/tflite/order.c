/* Checks that every tensor gets its value once, and before it is read. Called by
 * formats/tflite/tflite.c. Allocates one byte per tensor during the check. */
#include "formats/tflite/reader.h"

#include <stdlib.h>

/* State of the check. */
struct order {
  struct mafat_tflite_reader *r;
  unsigned char *made; /* [tensor]: 1 if it has a value */
};

/* who: the operator's label, for messages. */
static void check_number(struct order *o, int32_t tensor, const char *who)
{
  if (tensor < 0 || tensor >= o->r->model->n_tensors)
    mafat_flat_fail(&o->r->f, MAFAT_EFORMAT, "%s: expected a tensor below %d, found %d", who,
                    o->r->model->n_tensors, (int)tensor);
}

static void need(struct order *o, int32_t tensor, const char *who)
{
  check_number(o, tensor, who);
  if (!o->r->f.code && !o->made[tensor])
    mafat_flat_fail(&o->r->f, MAFAT_EFORMAT, "%s: reads tensor %d, %s, which nothing has made", who,
                    (int)tensor, o->r->model->tensors[tensor].name);
}

static void make(struct order *o, int32_t tensor, const char *who)
{
  check_number(o, tensor, who);
  if (o->r->f.code) return;
  if (o->made[tensor])
    mafat_flat_fail(&o->r->f, MAFAT_EFORMAT, "%s: makes tensor %d, %s, which is there already", who,
                    (int)tensor, o->r->model->tensors[tensor].name);
  o->made[tensor] = 1;
}

static void check_operator(struct order *o, const struct mafat_tflite_operator *operator)
{
  char label[MAFAT_TFLITE_LABEL_ROOM];
  mafat_tflite_label(o->r->model, operator, label);
  for (int i = 0; i < operator->n_inputs && !o->r->f.code; i++)
    if (operator->inputs[i] != -1) need(o, operator->inputs[i], label);
  for (int i = 0; i < operator->n_outputs && !o->r->f.code; i++)
    make(o, operator->outputs[i], label);
}

void mafat_tflite_check_order(struct mafat_tflite_reader *r)
{
  const struct mafat_tflite *m = r->model;
  struct order o = {r, mafat_tflite_zeros(&r->f, (size_t)m->n_tensors, 1)};
  if (!o.made) return;
  for (int i = 0; i < m->n_tensors; i++)
    if (m->used[i]) o.made[i] = m->tensors[i].constant || m->tensors[i].variable;
  for (int i = 0; i < m->n_inputs && !r->f.code; i++)
    make(&o, m->inputs[i], "the network's inputs");
  for (int i = 0; i < m->n_operators && !r->f.code; i++) check_operator(&o, &m->operators[i]);
  for (int i = 0; i < m->n_outputs && !r->f.code; i++)
    need(&o, m->outputs[i], "the network's outputs");
  if (!r->f.code && m->n_outputs == 0)
    mafat_flat_fail(&r->f, MAFAT_EFORMAT, "expected an output, found none");
  free(o.made);
}
