/* Checks that Darknet lacks. Called from Darknet's sources, where patches (0005-guards.patch)
 * insert the calls. A failed check prints one line on stderr and ends the process. Keeps static
 * variables. */
#include "guard.h"

#include <errno.h>
#include <limits.h>

#include "inference.h"
#include "list.h"
#include "option_list.h"

int guard_display(void)
{
    static int warned;
    const char *x11 = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    if ((x11 && *x11) || (wayland && *wayland)) return 1;
    if (!warned)
      fprintf(stderr, "darknet: no display (DISPLAY, WAYLAND_DISPLAY): no window is opened\n");
    warned = 1;
    return 0;
}

void guard_error(const char *text)
{
    int length = (int)strlen(text);
    while (length > 0 && strchr("\n.", text[length - 1])) --length;
    inference_fail(2, "%.*s", length, text);
}

void guard_picture(const char *file, const char *why)
{
    FILE *there = fopen(file, "rb");
    const char *reason = there ? why : strerror(errno);
    if (there) fclose(there);
    if (inference_mode()) inference_fail(2, "cannot load the picture %s: %s", file, reason);
}

void guard_path(const char *path, int capacity)
{
  if (strlen(path) >= (size_t)capacity)
    inference_fail(2, "a path of %zu characters; Darknet has room for %d: %.60s...", strlen(path),
                   capacity - 1, path);
}

void guard_unwritten(const char *file)
{
    if (inference_mode()) inference_fail(1, "cannot write the picture %s", file);
}

void guard_source(int index, int layer, const char *type)
{
  if (index < 0 || index >= layer)
    inference_fail(2, "layer %d: [%s] reads layer %d, which is none before it", layer, type, index);
}

static const char *value_of(const list *options, const char *key)
{
    for (const node *n = options->front; n; n = n->next) {
        const kvp *pair = n->val;
        if (strcmp(pair->key, key) == 0)
          return pair->val; /* option_find() would mark it as read */
    }
    return NULL;
}

void guard_section(const list *options)
{
  static const char *const divisors[] = {"stride", "subdivisions", "groups"}, *const sides[] = {
                                                                                  "width", "height",
                                                                                  "channels"};
  double product = 1;
  for (int i = 0; i < 3; ++i) {
    const char *divisor = value_of(options, divisors[i]), *side = value_of(options, sides[i]);
    if (divisor && atoi(divisor) == 0)
      inference_fail(2, "the cfg says %s=%s", divisors[i], divisor);
    if (side && atoi(side) < 0) inference_fail(2, "the cfg says %s=%s", sides[i], side);
    product *= side ? atoi(side) : 1;
    }
    if (product > INT_MAX)
      inference_fail(2, "the cfg says %.0f values of input, more than can be counted", product);
}

void guard_head(layer l, int index, int inputs)
{
  if (l.outputs != inputs)
    inference_fail(2, "layer %d: as a head it expects %d values, the layer before has %d", index,
                   l.outputs, inputs);
}

static int least_batch = 1;

void guard_batch(int least)
{
    least_batch = least;
}

int guard_least_batch(int batch)
{
  if (batch < 1 && !inference_mode())
    inference_fail(2, "the cfg's batch is less than its subdivisions");
  return batch < least_batch ? least_batch : batch;
}

void guard_weights(FILE *from, const char *file, int i)
{
    if (!inference_mode() || (!feof(from) && !ferror(from))) return;
    fputc('\n', stderr); /* ends the line that Darknet began with "Loading weights" */
    if (ferror(from)) inference_fail(2, "cannot read %s: %s", file, strerror(errno));
    inference_fail(2, "%s: too short for this network: it ends within layer %d", file, i);
}

static char **known_names;
static int n_names;

char **guard_names(char **names, int n)
{
    known_names = names;
    n_names = n;
    return names;
}

void guard_classes(char **names, int classes)
{
  if (names == known_names && classes > n_names)
    inference_fail(2, "the network has %d classes, but there are only %d names", classes, n_names);
}

int guard_named(char **names, int index)
{
    return index >= 0 && (names != known_names || index < n_names);
}
