/* Generates random numbers and random weights files. Called by all tests with random cases. */
#include "tests/support/random.h"

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- random numbers: splitmix64 ---- */

struct test_rng test_rng(uint64_t seed)
{
  return (struct test_rng){seed * 0x9e3779b97f4a7c15u + 1};
}

uint32_t test_random(struct test_rng *rng)
{
  uint64_t z = rng->state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (uint32_t)((z ^ (z >> 31)) >> 32);
}

int test_random_int(struct test_rng *rng, int least, int most)
{
  return least + (int)(test_random(rng) % (uint32_t)(most - least + 1));
}

bool test_random_chance(struct test_rng *rng, int percent)
{
  return test_random_int(rng, 0, 99) < percent;
}

/* ---- weights ---- */

static bool write_floats(int fd, struct test_rng *rng, uint64_t n, float least, float most)
{
  float chunk[1024];
  while (n > 0) {
    size_t count = n < 1024 ? (size_t)n : 1024;
    for (size_t i = 0; i < count; i++)
      chunk[i] = least + (most - least) * (float)(test_random(rng) >> 8) / 16777216.0f;
    if (write(fd, chunk, count * sizeof *chunk) != (ssize_t)(count * sizeof *chunk)) return false;
    n -= count;
  }
  return true;
}

static bool write_layer(int fd, struct test_rng *rng, const struct mafat_layer *layer)
{
  struct mafat_weight_counts c = mafat_layer_weight_counts(layer);
  uint64_t each = c.normalization / 3;
  float range = c.weights ? 1.7f / sqrtf((float)c.weights / (float)layer->out.c) : 1;
  bool connected = layer->type == MAFAT_CONNECTED;
  return write_floats(fd, rng, c.biases, -.2f, .2f) &&
         (!connected || write_floats(fd, rng, c.weights, -range, range)) &&
         write_floats(fd, rng, each, .6f, 1.4f) && write_floats(fd, rng, each, -.3f, .3f) &&
         write_floats(fd, rng, each, .5f, 1.5f) &&
         (connected || write_floats(fd, rng, c.weights, -range, range));
}

int test_random_weights(const struct mafat_network *n, uint64_t seed)
{
  static const int32_t header[5] = {0, 2, 0, 0, 0};
  struct test_rng rng = test_rng(seed);
  int fd = memfd_create("weights", 0);
  bool whole = fd >= 0 && write(fd, header, sizeof header) == sizeof header;
  for (int l = 0; l < n->n_layers && whole; l++) whole = write_layer(fd, &rng, &n->layers[l]);
  if (whole || fd < 0) return fd;
  close(fd);
  return -1;
}
