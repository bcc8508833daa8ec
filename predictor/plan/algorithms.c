/* Chooses the algorithm (direct or Winograd) of each convolution, and converts the words of a
 * plan's text (":direct3": direct for layer 3) to such choices and back. Called by
 * predictor/planning/ and search/best. Allocates from the plan's or the choice's heap. */
#include "predictor/plan/algorithms.h"

#include "predictor/plan/winograd.h"

/* Algorithm of a layer if the options name `wanted`. */
static enum mafat_algorithm default_of(enum mafat_algorithm wanted, const struct mafat_layer *l)
{
  if (wanted == MAFAT_AUTO) return mafat_winograd_fastest(l);
  return mafat_winograd_applies(l) ? wanted : MAFAT_DIRECT;
}

int mafat_algorithms_default(struct mafat_plan *plan, const struct mafat_network *n,
                             const enum mafat_algorithm *chosen)
{
  plan->algorithms =
      mafat_heap_calloc(plan->heap, (size_t)plan->n_layers, sizeof *plan->algorithms);
  if (!plan->algorithms) return MAFAT_ENOMEM;
  for (int l = 0; l < plan->n_layers; l++)
    plan->algorithms[l] = chosen ? chosen[l] : default_of(plan->wanted, &n->layers[l]);
  return MAFAT_OK;
}

/* Index of a layer in an ascending list, or of the first larger layer number. */
static int find_place(const int *layers, int n_layers, int layer)
{
  int i = 0;
  while (i < n_layers && layers[i] < layer) i++;
  return i;
}

static bool is_in(const int *layers, int n_layers, int layer)
{
  int i = find_place(layers, n_layers, layer);
  return i < n_layers && layers[i] == layer;
}

int mafat_algorithms_apply(struct mafat_plan *plan, const struct mafat_network *n,
                           const int *layers, int n_layers, enum mafat_algorithm algorithm,
                           const struct mafat_algorithm_word *word, struct mafat_diagnostic *d)
{
  struct mafat_span all = {layers[0], layers[n_layers - 1] + 1};
  const struct mafat_span *spans = word->n ? word->layers : &all;
  if (!word->given) return MAFAT_OK;
  for (int i = 0; i < (word->n ? word->n : 1); i++) {
    bool begins = is_in(layers, n_layers, spans[i].begin);
    if (!begins || !is_in(layers, n_layers, spans[i].end - 1))
      return mafat_fail(d, MAFAT_EINVAL, "expected layers %d to %d%s after :%s, found %d",
                        all.begin, all.end - 1,
                        mafat_span_size(all) > n_layers ? ", as far as they are in the group," : "",
                        mafat_algorithm_name(algorithm),
                        begins ? spans[i].end - 1 : spans[i].begin);
    for (int k = find_place(layers, n_layers, spans[i].begin);
         k < n_layers && layers[k] < spans[i].end; k++) {
      int l = layers[k];
      bool applies = algorithm == MAFAT_DIRECT || mafat_winograd_applies(&n->layers[l]);
      if (!applies && word->n && mafat_span_size(spans[i]) == 1)
        return mafat_fail(d, MAFAT_EINVAL,
                          "expected a 3x3 convolution of stride 1 after :%s, found layer %d [%s]",
                          mafat_algorithm_name(algorithm), l,
                          mafat_layer_type_name(n->layers[l].type));
      if (applies) plan->algorithms[l] = algorithm;
    }
  }
  return MAFAT_OK;
}

/* ---- words for a choice; i is an index into choice->layers ---- */

/* True if the layer does not use the default. */
static bool differs(const struct mafat_algorithm_choice *c, int i)
{
  int layer = c->layers[i];
  return c->algorithms[layer] != default_of(c->wanted, &c->network->layers[layer]);
}

/* True if the layer could use Winograd. */
static bool has_choice(const struct mafat_algorithm_choice *c, int i)
{
  return mafat_winograd_applies(&c->network->layers[c->layers[i]]);
}

static bool uses(const struct mafat_algorithm_choice *c, int i, enum mafat_algorithm algorithm)
{
  return c->algorithms[c->layers[i]] == algorithm;
}

/* Finds consecutive layers from index i on that use this algorithm. Returns the index of the last
 * of them that differs from the default. Layers without a choice may be in between. */
static int run_end(const struct mafat_algorithm_choice *c, int i, enum mafat_algorithm algorithm)
{
  int last = i;
  for (int next = i + 1; next < c->n; next++) {
    if (!has_choice(c, next)) continue;
    if (!uses(c, next, algorithm)) break;
    if (differs(c, next)) last = next;
  }
  return last;
}

/* Fills the word of one algorithm: the layers that use it and differ from the default. */
static int fill_word(const struct mafat_algorithm_choice *c, enum mafat_algorithm algorithm,
                     struct mafat_algorithm_word *word)
{
  bool everywhere = true; /* all layers that can use it do; then the word lists no layers */
  for (int i = 0; i < c->n; i++) {
    word->given = word->given || (differs(c, i) && uses(c, i, algorithm));
    everywhere = everywhere && (!has_choice(c, i) || uses(c, i, algorithm));
  }
  for (int i = 0; i < c->n && word->given && !everywhere; i++) {
    if (!differs(c, i) || !uses(c, i, algorithm)) continue;
    int last = run_end(c, i, algorithm);
    if (mafat_algorithm_word_add(c->heap, word, mafat_span(c->layers[i], c->layers[last] + 1)))
      return MAFAT_ENOMEM;
    i = last;
  }
  return MAFAT_OK;
}

int mafat_algorithms_words(const struct mafat_algorithm_choice *choice,
                           struct mafat_group_spec *group)
{
  int code = MAFAT_OK;
  for (int a = MAFAT_DIRECT; a < MAFAT_N_ALGORITHMS && code == MAFAT_OK; a++)
    code = fill_word(choice, (enum mafat_algorithm)a, &group->algorithms[a]);
  return code;
}
