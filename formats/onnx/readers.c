/* Index of the nodes that read each value, so that importers find later nodes without a search.
 * Called by formats/onnx/import.c, which builds the index, and by the importers of formats/onnx.
 * Allocates the index, which import.c frees. */
#include "formats/onnx/importer.h"

int mafat_onnx_note_readers(struct mafat_onnx_importer *i)
{
  const struct mafat_onnx *m = i->model;
  size_t n = 0, n_values = (size_t)mafat_onnx_n_values(m);
  i->first_reader = mafat_graph_alloc(i->g, n_values + 2, sizeof *i->first_reader);
  if (!i->first_reader) return mafat_graph_fail_memory(i->g);
  /* The first loop counts the readers of value v in next[v + 1]. The second loop makes next[v] the
   * index in `reading` of the first reader of v. The third loop advances next[v] to the first
   * reader of v + 1; so first_reader[v], which is next[v - 1], ends as the index of the first
   * reader of v. */
  size_t *next = i->first_reader + 1;
  for (int k = 0; k < m->n_nodes; k++)
    for (int j = 0; j < m->nodes[k].n_inputs; j++)
      if (m->nodes[k].inputs[j]) next[m->nodes[k].inputs[j]->index + 1]++, n++;
  for (size_t v = 0; v < n_values; v++) next[v + 1] += next[v];
  i->reading = mafat_graph_alloc(i->g, n + 1, sizeof *i->reading);
  if (!i->reading) return mafat_graph_fail_memory(i->g);
  for (int k = 0; k < m->n_nodes; k++)
    for (int j = 0; j < m->nodes[k].n_inputs; j++)
      if (m->nodes[k].inputs[j]) i->reading[next[m->nodes[k].inputs[j]->index]++] = k;
  return MAFAT_OK;
}

const int *mafat_onnx_readers(const struct mafat_onnx_importer *i, const struct mafat_onnx_value *v,
                              size_t *n)
{
  *n = i->first_reader[v->index + 1] - i->first_reader[v->index];
  return i->reading + i->first_reader[v->index];
}

const struct mafat_onnx_node *mafat_onnx_only_reader(const struct mafat_onnx_importer *i,
                                                     const struct mafat_onnx_value *v)
{
  size_t n;
  const int *nodes = mafat_onnx_readers(i, v, &n);
  return n == 1 && i->values[v->index].readers == 1 ? &i->model->nodes[*nodes] : NULL;
}
