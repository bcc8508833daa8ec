/* Table of output heads. Chooses the head that decodes a network's outputs, by name or by the
 * outputs' dimensions. Called by api/choose.c when a model is opened, and by api/packing/pack.c.
 * Sets n->decoded of the network; allocates nothing. */
#include "runner/detect/heads/heads.h"

#include "runner/detect/detect.h"
#include "runner/detect/heads/head.h"

#include <stdio.h>
#include <string.h>

/* All heads, in the order in which --decode auto tries them. */
static const struct mafat_outputs_head *const heads[] = {
    &mafat_head_classes,   &mafat_head_yunet,   &mafat_head_ssd,
    &mafat_head_ultraface, &mafat_head_nanodet, &mafat_head_yolox,
    &mafat_head_yolov5,    &mafat_head_yolov8,  &mafat_head_fastestdet};

enum { HEADS = sizeof heads / sizeof *heads };

static const struct mafat_outputs_head *find_head(const char *name)
{
  for (int i = 0; i < HEADS; i++)
    if (strcmp(heads[i]->name, name) == 0) return heads[i];
  return NULL;
}

/* Writes names and dimensions of the outputs to `text`, such as "scores [1, 4420, 2], boxes
 * [1, 4420, 4]". If there are many, writes their number instead. */
static void describe(const struct mafat_head_shapes *s, char *text, size_t capacity)
{
  enum { FEW = 4 };
  size_t at = 0;
  if (s->n > FEW) {
    snprintf(text, capacity, "%d outputs", s->n);
    return;
  }
  for (int i = 0; i < s->n && at < capacity; i++) {
    const struct mafat_port_facts *f = &s->list[i];
    at += (size_t)snprintf(text + at, capacity - at, "%s%.24s [", i ? ", " : "", f->name);
    for (int k = 0; k < f->rank && at < capacity; k++)
      at += (size_t)snprintf(text + at, capacity - at, "%s%lld", k ? ", " : "",
                             (long long)f->dims[k]);
    if (at < capacity) at += (size_t)snprintf(text + at, capacity - at, "]");
  }
}

static void describe_output(struct mafat_port_facts *f, const struct mafat_port *p)
{
  *f = (struct mafat_port_facts){
      .name = p->name, .rank = p->view.n_dims, .n = (size_t)mafat_view_elements(&p->view)};
  for (int k = 0; k < f->rank; k++) f->dims[k] = (int64_t)p->view.dims[k];
}

static int list_shapes(struct mafat_head_shapes *s, struct mafat_port_facts *list,
                       const struct mafat_network *n)
{
  struct mafat_shape in = mafat_network_picture_shape(n);
  *s = (struct mafat_head_shapes){.in_w = in.w,
                                  .in_h = in.h,
                                  .in_n = (size_t)mafat_shape_elements(in),
                                  .relative_boxes = n->format.relative_boxes,
                                  .n = n->n_outputs,
                                  .list = list};
  for (int i = 0; i < n->n_outputs && i < MAFAT_DECODED_OUTPUTS; i++)
    describe_output(&list[i], &n->outputs[i]);
  return n->n_outputs <= MAFAT_DECODED_OUTPUTS ? MAFAT_OK : MAFAT_ELIMIT;
}

/* Sets n->decoded and returns true if the head can decode the outputs. surely: only if, in
 * addition, no other head has outputs of these dimensions. */
static bool try_head(struct mafat_network *n, const struct mafat_head_shapes *s,
                     const struct mafat_outputs_head *head, bool surely)
{
  struct mafat_decoded found;
  if (!head->fits(s, &found) || (surely && !found.declared) || found.boxes > UINT32_MAX)
    return false;
  found.head = head;
  describe(s, found.sign, sizeof found.sign);
  n->decoded = found;
  return true;
}

static int refuse(const struct mafat_network *n, const struct mafat_head_shapes *s,
                  const struct mafat_outputs_head *head,
                  struct mafat_diagnostic *d)
{
  char found[120];
  describe(s, found, sizeof found);
  return mafat_fail(d, MAFAT_EINVAL,
                    "%.150s: outputs cannot be decoded as %s: expected %s, found %s", n->path,
                    head->name, head->expects, found);
}

/* Sets n->decoded for a network with outputs. If head is NULL, chooses one ("auto"). */
static int choose(struct mafat_network *n, const struct mafat_outputs_head *head,
                  struct mafat_diagnostic *d)
{
  struct mafat_port_facts list[MAFAT_DECODED_OUTPUTS];
  struct mafat_head_shapes shapes;
  bool few = list_shapes(&shapes, list, n) == MAFAT_OK;
  if (head)
    return few && try_head(n, &shapes, head, false) ? MAFAT_OK : refuse(n, &shapes, head, d);
  for (int i = 0; few && i < HEADS; i++)
    if (try_head(n, &shapes, heads[i], true)) break;
  return MAFAT_OK;
}

int mafat_heads_choose(struct mafat_network *n, int n_layers, const char *name,
                       struct mafat_diagnostic *d)
{
  bool whole = n->outputs && n_layers == n->n_layers, any = !name || strcmp(name, "auto") == 0;
  n->decoded = (struct mafat_decoded){.nothing = name && strcmp(name, "none") == 0};
  if (n->decoded.nothing || (any && !whole)) return MAFAT_OK;
  if (any) return choose(n, NULL, d);
  const struct mafat_outputs_head *head = find_head(name);
  if (head && whole) return choose(n, head, d);
  if (head)
    return mafat_fail(d, MAFAT_EINVAL,
                      "%.200s: expected all of an ONNX or TFLite file to decode as %s", n->path,
                      head->name);
  if (strcmp(name, "darknet") != 0)
    return mafat_fail(d, MAFAT_EINVAL,
                      "expected a head (auto, darknet, yolov5, yolov8, yolox, nanodet, fastestdet, "
                      "ssd, ultraface, "
                      "yunet, classes, none), found %.60s",
                      name);
  if (mafat_detect_has_head(n, n_layers) || mafat_classify_layer(n, n_layers) >= 0) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EINVAL,
                    "%.200s: expected a layer of Darknet's that is a head, to decode as darknet",
                    n->path);
}
