/* Recognizes a GELU, x * (1 + erf(x / sqrt(2))) / 2, which exporters write as five operators in
 * varying order, and makes one activation of it. Called by formats/onnx/import_math.c. Adds a layer
 * to the graph. */
#include "formats/onnx/importer.h"

enum {
  AHEAD = 16, /* number of nodes, from the current one on, in which the chain is searched */
  MOST_LINKS = 5,
  MOST_NUMBERS = 3
};

struct gelu_chain {
  const struct mafat_onnx_node *links[MOST_LINKS], *last;
  int n_links, n_numbers;
  struct {
    const struct mafat_onnx_value *value;
    double expected;
  } numbers[MOST_NUMBERS];
};

/* ---- structure of the chain ---- */

/* Finds a node that reads v, among the next AHEAD nodes and other than `but`. */
static const struct mafat_onnx_node *find_reader(const struct mafat_onnx_importer *i,
                                                 const struct mafat_onnx_value *v,
                                                 const struct mafat_onnx_node *but)
{
  int index = (int)(i->node - i->model->nodes);
  for (int k = index; k < i->model->n_nodes && k < index + AHEAD; k++) {
    const struct mafat_onnx_node *n = &i->model->nodes[k];
    if (n == but || *n->domain || n->n_outputs != 1) continue;
    for (int j = 0; j < n->n_inputs; j++)
      if (n->inputs[j] == v) return n;
  }
  return NULL;
}

static bool can_be_left_out(const struct mafat_onnx_importer *i, const struct mafat_onnx_value *v)
{
  const struct mafat_value *value = &i->values[v->index];
  return v->makers == 1 && !v->initializer && value->form == MAFAT_VALUE_NONE &&
         value->readers == 1;
}

/* Returns the only reader of this node's output; NULL: none, or several. */
static const struct mafat_onnx_node *next_of(const struct mafat_onnx_importer *i,
                                             const struct mafat_onnx_node *n)
{
  return n && n->outputs[0] && can_be_left_out(i, n->outputs[0]) ? find_reader(i, n->outputs[0], n)
                                                                 : NULL;
}

/* Returns the input beside v of a node with this op_type and two inputs, one of which is v. NULL: n
 * is not such a node. */
static const struct mafat_onnx_value *beside(const struct mafat_onnx_node *n, const char *op_type,
                                             const struct mafat_onnx_value *v)
{
  if (!n || strcmp(n->op_type, op_type) != 0 || n->n_inputs != 2) return NULL;
  return n->inputs[0] == v ? n->inputs[1] : n->inputs[0];
}

/* Adds a node to the chain, and a number to be checked later. False: `number` is NULL. */
static bool expect(struct gelu_chain *c, const struct mafat_onnx_node *n,
                   const struct mafat_onnx_value *number, double expected)
{
  if (!number) return false;
  c->links[c->n_links++] = n;
  c->numbers[c->n_numbers].value = number;
  c->numbers[c->n_numbers++].expected = expected;
  return true;
}

/* True if the node computes v * factor or v / (1 / factor). The factor is checked later. */
static bool scales(struct gelu_chain *c, const struct mafat_onnx_node *n,
                   const struct mafat_onnx_value *v, double factor)
{
  if (expect(c, n, beside(n, "Mul", v), factor)) return true;
  return n && n->inputs[0] == v && expect(c, n, beside(n, "Div", v), 1 / factor);
}

/* Finds the end of the chain: the product of x and the sum, and the multiplication by 1/2, which
 * may apply to the product, to the sum or to x. of_x: the second node that reads x. */
static bool ends(const struct mafat_onnx_importer *i, struct gelu_chain *c,
                 const struct mafat_onnx_value *x, const struct mafat_onnx_node *of_x,
                 const struct mafat_onnx_node *sum)
{
  const struct mafat_onnx_node *next = next_of(i, sum);
  const struct mafat_onnx_value *s = sum->outputs[0];
  if (!next) return false;
  if (next == of_x) {
    c->last = next_of(i, of_x);
    c->links[c->n_links++] = of_x;
    return beside(of_x, "Mul", x) == s && scales(c, c->last, of_x->outputs[0], .5);
  }
  if (next_of(i, next) == of_x) {
    c->last = of_x;
    return scales(c, next, s, .5) && beside(of_x, "Mul", x) == next->outputs[0];
  }
  c->last = next;
  return next_of(i, of_x) == next && scales(c, of_x, x, .5) &&
         beside(next, "Mul", s) == of_x->outputs[0];
}

/* Finds the nodes of a GELU of x. scale, of_x: the two nodes that read x; scale divides by
 * sqrt(2). */
static bool find_chain(const struct mafat_onnx_importer *i, struct gelu_chain *c,
                       const struct mafat_onnx_value *x, const struct mafat_onnx_node *scale,
                       const struct mafat_onnx_node *of_x)
{
  *c = (struct gelu_chain){.n_links = 0};
  if (!scales(c, scale, x, sqrt(.5))) return false;
  const struct mafat_onnx_node *erf = next_of(i, scale), *sum = next_of(i, erf);
  if (!erf || strcmp(erf->op_type, "Erf") != 0 || erf->n_inputs != 1 || !sum) return false;
  c->links[c->n_links++] = erf;
  return expect(c, sum, beside(sum, "Add", erf->outputs[0]), 1) && ends(i, c, x, of_x, sum) &&
         c->last->outputs[0];
}

/* ---- constants of the chain ---- */

/* Sets *is to true if the value is a constant with one element, equal to `expected`, and at most
 * n_dims dimensions. With more, it would change the dimensions of the result. */
static int check_number(const struct mafat_onnx_importer *i, const struct mafat_onnx_value *v,
                        double expected, int n_dims, bool *is)
{
  struct mafat_value *value = &i->values[v->index];
  double number;
  int code = MAFAT_OK;
  if (value->form == MAFAT_VALUE_NONE && v->initializer)
    code = mafat_onnx_constant(i, value, v->initializer);
  *is = code == MAFAT_OK && mafat_value_is_constant(value) && mafat_value_elements(value) == 1 &&
        value->view.n_dims <= n_dims;
  if (code || !*is) return code;
  if ((code = mafat_value_number(i->g, value, &number))) return code;
  *is = fabs(number - expected) <= 1e-6 * expected;
  return MAFAT_OK;
}

/* Adds the activation. Sets the outputs of the chain's other nodes to copies of the input, so that
 * these nodes are skipped later. */
static int fold(struct mafat_onnx_importer *i, const struct gelu_chain *c, struct mafat_value *in)
{
  struct mafat_value *out = &i->values[c->last->outputs[0]->index];
  int readers = out->readers, in_readers = in->readers;
  in->readers = 1;
  int code = mafat_graph_activate(i->g, out, in, mafat_activating(MAFAT_GELU));
  in->readers = in_readers;
  out->readers = readers;
  for (int k = 0; k < c->n_links && code == MAFAT_OK; k++)
    if (c->links[k] != i->node && c->links[k] != c->last)
      code = mafat_value_copy(i->g, &i->values[c->links[k]->outputs[0]->index], in);
  return code;
}

int mafat_onnx_fold_gelu(struct mafat_onnx_importer *i, bool *done)
{
  struct gelu_chain c;
  *done = false;
  for (int side = 0; side < 2; side++) {
    const struct mafat_onnx_value *x = i->node->inputs[side];
    struct mafat_value *in = x ? &i->values[x->index] : NULL;
    if (!in || in->form != MAFAT_VALUE_MAP || in->readers != 2) continue;
    const struct mafat_onnx_node *second = find_reader(i, x, i->node);
    if (!second ||
        (!find_chain(i, &c, x, i->node, second) && !find_chain(i, &c, x, second, i->node)))
      continue;
    const struct mafat_onnx_value *y = c.last->outputs[0];
    bool is = y->makers == 1 && !y->initializer && i->values[y->index].form == MAFAT_VALUE_NONE;
    int code = MAFAT_OK;
    for (int k = 0; k < c.n_numbers && code == MAFAT_OK && is; k++)
      code = check_number(i, c.numbers[k].value, c.numbers[k].expected, in->view.n_dims, &is);
    if (code) return code;
    if (!is) continue;
    *done = true;
    return fold(i, &c, in);
  }
  return MAFAT_OK;
}
