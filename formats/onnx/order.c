/* Sorts the nodes of a graph topologically: each after the producers of its inputs. Called by
 * formats/onnx/graph.c. If the file is not sorted, allocates 12 bytes for each node. */
#include "formats/onnx/reader.h"

enum { PLACED = -1 };

/* A depth-first walk from readers to producers, without recursion. Arrays are indexed by node. */
struct walk {
  int *before; /* the reader that led to the node; -1: none */
  int *next;   /* next input to follow; PLACED: the node is in `order` */
  int *order;  /* the first n: nodes in their new order */
  int n;
};

static int maker_of(const struct mafat_onnx_value *v)
{
  return v ? v->node : -1;
}

static bool is_sorted(const struct mafat_onnx_node *nodes, int n)
{
  for (int k = 0; k < n; k++)
    for (int i = 0; i < nodes[k].n_inputs; i++)
      if (maker_of(nodes[k].inputs[i]) >= k) return false;
  return true;
}

static int refuse_cycle(struct mafat_onnx_reader *r, const struct mafat_onnx_node *node,
                        const struct mafat_onnx_value *input)
{
  r->source.what = "node";
  r->source.number = node->number;
  r->source.kind = node->op_type;
  r->source.name = *node->name ? node->name : NULL;
  return mafat_wire_source_fail(&r->source, MAFAT_EFORMAT,
                                "a cycle: its input '%.100s' depends on its own output",
                                input->name);
}

/* Appends a node to `order`, after all nodes that it depends on. */
static int place(struct mafat_onnx_reader *r, const struct mafat_onnx_node *nodes, struct walk *w,
                 int k)
{
  for (w->before[k] = -1; k >= 0;) {
    if (w->next[k] == nodes[k].n_inputs) {
      w->next[k] = PLACED;
      w->order[w->n++] = k;
      k = w->before[k];
      continue;
    }
    const struct mafat_onnx_value *input = nodes[k].inputs[w->next[k]++];
    int maker = maker_of(input);
    if (maker < 0 || w->next[maker] == PLACED) continue;
    if (w->next[maker] > 0) return refuse_cycle(r, &nodes[k], input); /* it leads to k */
    w->before[maker] = k;
    k = maker;
  }
  return MAFAT_OK;
}

/* Applies the permutation in place, one of its cycles after the other. */
static void permute(struct mafat_onnx_node *nodes, int *order, int n)
{
  for (int first = 0; first < n; first++) {
    const struct mafat_onnx_node moved = nodes[first];
    int to = first;
    while (order[to] != first) {
      int from = order[to];
      nodes[to] = nodes[from];
      order[to] = to;
      to = from;
    }
    nodes[to] = moved;
    order[to] = to;
  }
}

/* Sets the producer of each value to the first node that makes it in the new order. */
static void note_makers(struct mafat_onnx *m, const struct mafat_onnx_node *nodes, int n)
{
  for (int k = n; k-- > 0;)
    for (int i = 0; i < nodes[k].n_outputs; i++)
      if (nodes[k].outputs[i]) {
        struct mafat_onnx_value *v = mafat_onnx_names_get(m->values, nodes[k].outputs[i]->index);
        v->node = k;
      }
}

int mafat_onnx_sort_nodes(struct mafat_onnx_reader *r, struct mafat_wire *w,
                          struct mafat_onnx_node *nodes, int n)
{
  if (is_sorted(nodes, n)) return MAFAT_OK;
  size_t count = (size_t)n;
  struct walk walk = {.before = mafat_onnx_take(r, w, count, sizeof *walk.before),
                      .next = mafat_onnx_take(r, w, count, sizeof *walk.next),
                      .order = mafat_onnx_take(r, w, count, sizeof *walk.order)};
  int code = w->code;
  for (int k = 0; k < n && code == MAFAT_OK; k++)
    if (walk.next[k] != PLACED) code = place(r, nodes, &walk, k);
  if (code) return code;
  permute(nodes, walk.order, n);
  note_makers(r->model, nodes, n);
  return MAFAT_OK;
}
