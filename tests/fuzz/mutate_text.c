/* Mutates text: sections and lines of a cfg, words of a plan. Called by fuzz targets through
 * mutate.h. */
#include "tests/fuzz/mutate.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct part {
  size_t at, n;
};

enum { MOST_PARTS = 400 };

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Changes a number in the text by 1, by a factor of 2, or to an extreme number. False: the text
 * has no number. */
static bool change_number(struct mutation *m)
{
  if (m->n == 0) return false;
  size_t at = mutation_random(m, m->n), end;
  while (at < m->n && !isdigit(m->data[at])) at++;
  while (at > 0 && at < m->n && isdigit(m->data[at - 1])) at--;
  if (at == m->n) return false;
  long long value = 0;
  for (end = at; end < m->n && isdigit(m->data[end]); end++)
    if (value < 1LL << 40) value = 10 * value + m->data[end] - '0';
  switch (mutation_random(m, 5)) {
  case 0: value++; break;
  case 1: value--; break;
  case 2: value *= 2; break;
  case 3: value /= 2; break;
  default: value = mutation_number(m);
  }
  char text[24];
  int n = snprintf(text, sizeof text, "%lld", value);
  return mutation_splice(m, at, end - at, text, (size_t)n);
}

/* ---- a cfg ---- */

static const char *const sections[] = {
    "[convolutional]\nfilters=8\nsize=3\npad=1\nstride=1\nactivation=leaky\n",
    "[convolutional]\nbatch_normalize=1\nfilters=16\nsize=1\n",
    "[convolutional]\nfilters=12\nsize=3\ngroups=4\npad=1\n",
    "[convolutional]\nfilters=4\nsize=3\ndilation=2\npadding=2\nstride_x=2\nstride_y=1\n",
    "[maxpool]\nsize=2\nstride=2\n", "[maxpool]\nsize=3\nstride=1\npadding=2\n",
    "[local_avgpool]\nsize=2\nstride=1\n", "[avgpool]\n", "[route]\nlayers=-1,-2\n",
    "[route]\nlayers=-1\ngroups=2\ngroup_id=1\n", "[shortcut]\nfrom=-2\nactivation=linear\n",
    "[shortcut]\nfrom=-2,-3\n", "[upsample]\nstride=2\n", "[reorg]\nstride=2\n",
    "[reorg3d]\nstride=2\n", "[connected]\noutput=10\n", "[local]\nfilters=3\nsize=3\npad=1\n",
    "[batchnorm]\n", "[crop]\ncrop_width=4\ncrop_height=4\n", "[activation]\nactivation=elu\n",
    "[dropout]\nprobability=.5\n", "[cost]\n", "[softmax]\ngroups=2\ntemperature=2\n",
    "[scale_channels]\nfrom=-3\n", "[sam]\nfrom=-2\n", "[region]\nanchors=1,2\nclasses=1\nnum=1\n",
    "[yolo]\nmask=0,1\nanchors=10,14,23,27\nclasses=1\nnum=2\n",
    "[Gaussian_yolo]\nmask=0\nanchors=10,14\nclasses=1\nnum=1\n",
    "[detection]\nclasses=1\ncoords=4\nside=2\nnum=2\n",
};

static const char *const lines[] = {
    "batch_normalize=1\n", "filters=17\n", "size=5\n", "stride=3\n", "stride_x=2\n", "stride_y=3\n",
    "pad=1\n", "padding=4\n", "groups=2\n", "group_id=1\n", "dilation=3\n", "layers=-1,-3,1\n",
    "from=0\n", "output=7\n", "classes=3\n", "num=3\n", "mask=2,0\n", "coords=4\n",
    "anchors=1,2,3,4,5,6\n", "scale_x_y=1.2\n", "new_coords=1\n", "nms_kind=diounms\n",
    "yolo_point=right_bottom\n", "letter_box=1\n", "scale_wh=1\n", "scale=.5\n", "reverse=1\n",
    "extra=2\n", "side=3\n", "softmax=1\n", "sqrt=1\n", "background=1\n", "activation=linear\n",
    "activation=mish\n", "activation=hard_mish\n", "activation=logistic\n", "activation=swish\n",
    "activation=relu6\n", "activation=selu\n", "activation=stair\n",
    "activation=normalize_channels\n", "inputs=12\n", "width=8\n", "height=8\n", "channels=4\n",
    "temperature=0\n", "spatial=1\n", "tree=x\n", "stopbackward=1\n", "antialiasing=1\n", "#\n",
    "=\n",
};

/* Divides the text into sections or lines. Returns the number of parts. */
static size_t divide(const struct mutation *m, bool into_sections, struct part *parts)
{
  size_t count = 0;
  for (size_t at = 0, end; at < m->n && count < MOST_PARTS; at = end) {
    const uint8_t *newline = memchr(m->data + at, '\n', m->n - at);
    end = newline ? (size_t)(newline - m->data) + 1 : m->n;
    if (count > 0 && into_sections && m->data[at] != '[') parts[count - 1].n += end - at;
    else parts[count++] = (struct part){at, end - at};
  }
  return count;
}

static bool put_text(struct mutation *m, const struct part *parts, size_t count, const char *text)
{
  size_t k = mutation_random(m, count + 1);
  return mutation_splice(m, k == count ? m->n : parts[k].at, 0, text, strlen(text));
}

/* Copies, removes or moves a section (of_sections) or a line. */
static bool move_part(struct mutation *m, bool of_sections)
{
  struct part parts[MOST_PARTS];
  size_t count = divide(m, of_sections, parts);
  if (count == 0) return false;
  struct part from = parts[mutation_random(m, count)], to = parts[mutation_random(m, count)];
  switch (mutation_random(m, 3)) {
  case 0: return mutation_splice(m, from.at, from.n, NULL, 0);
  case 1: return mutation_copy(m, to.at, 0, from.at, from.n);
  default: return mutation_copy(m, to.at, to.n, from.at, from.n);
  }
}

static bool change_cfg(struct mutation *m)
{
  struct part parts[MOST_PARTS];
  switch (mutation_random(m, 8)) {
  case 0:
  case 1:
    return put_text(m, parts, divide(m, true, parts),
                    sections[mutation_random(m, COUNT(sections))]);
  case 2:
    return put_text(m, parts, divide(m, false, parts), lines[mutation_random(m, COUNT(lines))]);
  case 3: return move_part(m, true);
  case 4: return move_part(m, false);
  default: return change_number(m);
  }
}

/* ---- a plan ---- */

static const char *const words[] = {
    "/", "/1/", "/2/", "/3/", "/5/", "/0,3/", "/2,4-5/", "/NoCut", "1x1", "2x2", "3x1", "5x5",
    "[10]x[7]", "[]x[3]", "rows", "rows1", "rows4", "panels", ":balanced", ":apart", ":early",
    ":bricks", ":loaded", ":loaded30", ":streamed", ":streamed4", ":streamed64", ":direct",
    ":direct0-2,4", ":winograd", ":winograd2", ":winograd-large", ":winograd-large0,4", ":dw0",
    ":dw4", ":dw(0:1,3:2-4)", "split(h2:0-2)", "split(w3:0-1,c2:2-3)", "split(c4:4-5)",
    "split(h[3,5]:2-4)", "split(whole)", "h4:1-3", "c2:0-1", "w[2]:3", ",", "(", ")", "/order=file",
    "/order=postorder", "/order=forward", "/order=sp", "/order=best", "/inplace", "/ranks=2",
    "/ranks=3,1-2:1", "/ranks=64,0:63", ",4:1",
};

static bool is_boundary(uint8_t c)
{
  return c == '/' || c == ':' || c == ',' || c == '(' || c == ')' || c == 'x';
}

/* Chooses a part of the plan's text that begins and ends at boundaries of words. */
static struct part choose_words(struct mutation *m)
{
  size_t at = mutation_random(m, m->n), end = at + 1;
  while (at > 0 && !is_boundary(m->data[at])) at--;
  for (unsigned more = mutation_random(m, 4);; more--) {
    while (end < m->n && !is_boundary(m->data[end])) end++;
    if (end == m->n || more == 0) break;
    end++;
  }
  return (struct part){at, end - at};
}

static bool change_plan(struct mutation *m)
{
  const char *word = words[mutation_random(m, COUNT(words))];
  if (m->n == 0) return mutation_splice(m, 0, 0, word, strlen(word));
  struct part from = choose_words(m), to = choose_words(m);
  switch (mutation_random(m, 7)) {
  case 0: case 1: return mutation_splice(m, to.at + to.n, 0, word, strlen(word));
  case 2: return mutation_splice(m, to.at, to.n, word, strlen(word));
  case 3: return mutation_splice(m, from.at, from.n, NULL, 0);
  case 4: return mutation_copy(m, to.at, mutation_random(m, 2) ? to.n : 0, from.at, from.n);
  default: return change_number(m);
  }
}

/* ---- both ---- */

static size_t mutate(bool (*change)(struct mutation *m), uint8_t *data, size_t n, size_t most,
                     unsigned seed)
{
  struct mutation m = {data, n, most, seed};
  bool changed = false;
  if (mutation_random(&m, 6) == 0) return LLVMFuzzerMutate(data, n, most);
  for (unsigned i = 1 + mutation_random(&m, 3); i-- > 0;) changed |= change(&m);
  return changed ? m.n : LLVMFuzzerMutate(m.data, m.n, most);
}

size_t mutate_cfg(uint8_t *data, size_t n, size_t most, unsigned seed)
{
  return mutate(change_cfg, data, n, most, seed);
}

size_t mutate_plan(uint8_t *data, size_t n, size_t most, unsigned seed)
{
  return mutate(change_plan, data, n, most, seed);
}
