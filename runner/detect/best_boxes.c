/* Keeps the most confident boxes in a heap, and sorts boxes. Called by runner/detect/detect.c and
 * suppress.c. Touches only its arguments. */
#include "runner/detect/best_boxes.h"

static int compare_confidences(const struct mafat_scored_box *a, const struct mafat_scored_box *b)
{
  return (a->confidence < b->confidence) - (a->confidence > b->confidence);
}

static int compare_classes(const struct mafat_scored_box *a, const struct mafat_scored_box *b)
{
  return (a->class > b->class) - (a->class < b->class);
}

static int compare_numbers(const struct mafat_scored_box *a, const struct mafat_scored_box *b)
{
  return (a->number > b->number) - (a->number < b->number);
}

int mafat_box_order_results(const struct mafat_scored_box *a, const struct mafat_scored_box *b)
{
  int order = compare_confidences(a, b);
  if (!order) order = compare_classes(a, b);
  return order ? order : compare_numbers(a, b);
}

int mafat_box_order_classes(const struct mafat_scored_box *a, const struct mafat_scored_box *b)
{
  int order = compare_classes(a, b);
  if (!order) order = compare_confidences(a, b);
  return order ? order : compare_numbers(a, b);
}

/* ---- heap with the worst box first ---- */

/* Puts `box` at index `at` or in the subtree below it, so that this subtree is a heap. Both
 * subtrees below `at` must be heaps already. The root of a heap is the box that comes last in
 * `order`. */
static void sift_down(struct mafat_scored_box *list, size_t n, size_t at,
                      struct mafat_scored_box box, mafat_box_order *order)
{
  for (size_t child; (child = 2 * at + 1) < n; at = child) {
    if (child + 1 < n && order(&list[child + 1], &list[child]) > 0) child++;
    if (order(&list[child], &box) <= 0) break;
    list[at] = list[child];
  }
  list[at] = box;
}

static void make_heap(struct mafat_best_boxes *b, mafat_box_order *order)
{
  for (size_t i = b->n / 2; i-- > 0;) sift_down(b->list, b->n, i, b->list[i], order);
}

/* The list becomes a heap only when it is full and another box is added, because few pictures have
 * so many boxes. */
void mafat_best_boxes_add(struct mafat_best_boxes *b, const struct mafat_scored_box *box)
{
  if (b->n < b->most) {
    b->list[b->n++] = *box;
    return;
  }
  mafat_box_order *order = mafat_box_order_results;
  if (b->n_left_out++ == 0) make_heap(b, order);
  if (b->most && order(box, &b->list[0]) < 0) sift_down(b->list, b->n, 0, *box, order);
}

/* Uses heapsort, because some systems' qsort allocates as much memory as the list. */
void mafat_best_boxes_sort(struct mafat_best_boxes *b, mafat_box_order *order)
{
  make_heap(b, order);
  for (size_t n = b->n; n > 1; n--) {
    struct mafat_scored_box last = b->list[n - 1];
    b->list[n - 1] = b->list[0];
    sift_down(b->list, n - 1, 0, last, order);
  }
}
