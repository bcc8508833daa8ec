/* Loads networks with libdarknet and makes inputs for libdarknet and mafat. Called by the other
 * files of this folder. Reads files, allocates, and redirects standard output and error while
 * loading. */
#include "tests/oracle/oracle.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* If the line sets a key whose value must become 1, like "batch = 64", returns the key; else
 * NULL. */
static const char *forced_key(const char *line)
{
  static const char *const keys[] = {"batch", "subdivisions"};
  line += strspn(line, " \t");
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    size_t n = strlen(keys[i]);
    if (strncmp(line, keys[i], n) == 0 && line[n + strspn(line + n, " \t")] == '=') return keys[i];
  }
  return NULL;
}

static int copy_single(const char *from, const char *to, struct mafat_diagnostic *d)
{
  char *line = NULL;
  size_t capacity = 0;
  FILE *in = fopen(from, "r"), *out = fopen(to, "w");
  int code =
      in && out ? MAFAT_OK : mafat_fail(d, MAFAT_EIO, "%s: %s", in ? to : from, strerror(errno));
  while (code == MAFAT_OK && getline(&line, &capacity, in) >= 0) {
    const char *key = forced_key(line);
    if (key) fprintf(out, "%s=1\n", key);
    else fputs(line, out);
  }
  free(line);
  if (in) fclose(in);
  if (out && fclose(out) != 0 && code == MAFAT_OK)
    code = mafat_fail(d, MAFAT_EIO, "%s: %s", to, strerror(errno));
  return code;
}

/* Calls load_network() and discards what it prints on stdout and stderr. */
static network *load_silently(char *cfg, char *weights)
{
  fflush(stdout);
  int saved_out = dup(STDOUT_FILENO), saved_err = dup(STDERR_FILENO);
  int null = open("/dev/null", O_WRONLY);
  dup2(null, STDOUT_FILENO);
  dup2(null, STDERR_FILENO);
  network *net = load_network(cfg, weights, 0);
  fflush(stdout);
  dup2(saved_out, STDOUT_FILENO);
  dup2(saved_err, STDERR_FILENO);
  close(null);
  close(saved_out);
  close(saved_err);
  return net;
}

int oracle_load(network **out, const char *cfg, const char *weights, struct mafat_diagnostic *d)
{
  const char *base = getenv("TMPDIR");
  char folder[4096], copy[4200];
  *out = NULL;
  snprintf(folder, sizeof folder, "%s/oracle-XXXXXX", base && *base ? base : "/tmp");
  if (!mkdtemp(folder)) return mafat_fail(d, MAFAT_EIO, "%s: %s", folder, strerror(errno));
  snprintf(copy, sizeof copy, "%s/single.cfg", folder);
  int code = copy_single(cfg, copy, d);
  if (code == MAFAT_OK) {
    *out = load_silently(copy, (char *)weights);
    set_batch_network(*out, 1);
  }
  unlink(copy);
  rmdir(folder);
  return code;
}

float *oracle_picture(const network *net, const char *path, int *original_w, int *original_h)
{
  image loaded = load_image((char *)path, 0, 0, net->c);
  image fitted = letterbox_image(loaded, net->w, net->h);
  *original_w = loaded.w;
  *original_h = loaded.h;
  free_image(loaded);
  return fitted.data;
}

float *oracle_noise(const network *net)
{
  float *x = malloc((size_t)net->inputs * sizeof *x);
  uint32_t state = 1;
  for (int i = 0; x && i < net->inputs; i++) {
    state = state * 1664525u + 1013904223u; /* Numerical Recipes' constants */
    x[i] = (float)(state >> 8) * 0x1p-24f;
  }
  return x;
}

void oracle_update_yolo(network *net, int index, const struct mafat_layer *l)
{
  const layer *theirs = &net->layers[index];
  const struct mafat_head *h = &l->head;
  int pixels = l->out.h * l->out.w, per_box = h->coords + 1 + h->classes;
  if (h->new_coords)
    memcpy(theirs->output, net->layers[index - 1].output, (size_t)theirs->outputs * sizeof(float));
  if (h->scale_xy == 1) return; /* the usual case; the formula would round */
  for (int a = 0; a < h->n_anchors; a++)
    for (int i = 0; i < 2 * pixels; i++) {
      float *x = &theirs->output[a * per_box * pixels + i];
      *x = *x * h->scale_xy - .5f * (h->scale_xy - 1);
    }
}
