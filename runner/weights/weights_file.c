#include "runner/weights/weights_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "weights files are little-endian");

/* ---- the beginning of the file ---- */

/* Copies the first bytes, or all there are. */
static int read_beginning(const struct mafat_weights_file *f, void *to, size_t bytes, struct mafat_diagnostic *d)
{
  uint64_t there = mafat_reads_file_bytes(f->reads);
  if (bytes > there) bytes = (size_t)there;
  if (bytes == 0) return MAFAT_OK;
  size_t whole = (bytes + MAFAT_PACKED_ALIGNMENT - 1) / MAFAT_PACKED_ALIGNMENT * MAFAT_PACKED_ALIGNMENT;
  void *memory = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", f->name);
  int code = mafat_reads_submit(f->reads, 0, memory, whole, 0, d);
  if (code == MAFAT_OK) code = mafat_reads_wait(f->reads, 0, d);
  if (code == MAFAT_OK) memcpy(to, memory, bytes);
  munmap(memory, whole);
  return code;
}

/* ---- Darknet's ---- */

enum { NARROW_HEADER_BYTES = 16, WIDE_HEADER_BYTES = 20 };

bool mafat_weights_file_transposes(const char beginning[MAFAT_WEIGHTS_BEGINNING])
{
  int32_t version[2];
  memcpy(version, beginning, sizeof version);
  return version[0] > 1000 || version[1] > 1000;
}

static int read_darknet_header(struct mafat_weights_file *f, const char *beginning, struct mafat_diagnostic *d)
{
  int32_t version[3];
  uint64_t file_bytes = mafat_reads_file_bytes(f->reads);
  if (file_bytes < NARROW_HEADER_BYTES)
    return mafat_fail(d, MAFAT_EFORMAT, "%s: expected a weights header of 16 or 20 bytes, found %llu bytes",
                      f->name, (unsigned long long)file_bytes);
  memcpy(version, beginning, sizeof version);
  int major = version[0], minor = version[1];
  if (major < 0 || minor < 0 || major > 1 << 20 || minor > 1 << 20)
    return mafat_fail(d, MAFAT_EFORMAT, "%s: expected a weights header, found version %d.%d", f->name, major, minor);
  bool wide = major * 10 + minor >= 2 && major < 1000 && minor < 1000;
  f->layers_at = wide ? WIDE_HEADER_BYTES : NARROW_HEADER_BYTES;
  f->transposed = mafat_weights_file_transposes(beginning);
  return MAFAT_OK;
}

static uint64_t layer_bytes(const struct mafat_layer *l)
{
  struct mafat_weight_counts n = mafat_layer_weight_counts(l);
  return (n.biases + n.normalization + n.weights) * sizeof(float);
}

/* AlexeyAB's Darknet writes biases before a [batchnorm]'s other numbers, pjreddie's
 * has none. */
static int refuse_fork(const struct mafat_weights_file *f, const struct mafat_network *n, uint64_t surplus,
                       struct mafat_diagnostic *d)
{
  uint64_t biases = 0;
  for (int l = 0; l < n->n_layers; l++)
    if (n->layers[l].type == MAFAT_BATCHNORM) biases += (uint64_t)n->layers[l].in.c * sizeof(float);
  if (biases == 0 || surplus != biases) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EUNSUPPORTED, "%s: is %llu bytes too long for %s: [batchnorm] with biases, as AlexeyAB's Darknet "
                    "writes it, is not supported", f->name, (unsigned long long)surplus, n->path);
}

/* The file must hold what the whole cfg asks for, no less, and with a
 * detection head no more: a backbone cut from a longer file is legitimate. Of a network
 * that is cut nobody knows how much more. */
static int check_length(const struct mafat_weights_file *f, const struct mafat_network *n,
                        const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d)
{
  uint64_t end = f->layers_at, file_bytes = mafat_reads_file_bytes(f->reads), whole = end;
  bool has_head = false;
  for (int l = 0; l < n->n_layers; l++) whole += layer_bytes(&n->layers[l]);
  for (int l = 0; l < n->n_layers; l++) {
    end += layer_bytes(&n->layers[l]);
    has_head = has_head || mafat_layer_is_head(&n->layers[l]);
    if (end > file_bytes)
      return mafat_fail(d, MAFAT_EFORMAT, "%s: expected %llu bytes for %s, found %llu: the file ends in layer %d [%s]",
                        f->name, (unsigned long long)whole, n->path, (unsigned long long)file_bytes, l,
                        mafat_layer_type_name(n->layers[l].type));
  }
  if (end == file_bytes || n->cut) return MAFAT_OK;
  int code = refuse_fork(f, n, file_bytes - end, d);
  if (code) return code;
  if (has_head)
    return mafat_fail(d, MAFAT_EFORMAT, "%s: expected %llu bytes for %s, found %llu: %llu too many", f->name,
                      (unsigned long long)end, n->path, (unsigned long long)file_bytes,
                      (unsigned long long)(file_bytes - end));
  mafat_warn(warnings, "%s: %llu bytes beyond the last layer of %s are ignored", f->name,
             (unsigned long long)(file_bytes - end), n->path);
  return MAFAT_OK;
}

/* ---- packed ---- */

static int read_table(struct mafat_weights_file *f, const struct mafat_network *n, struct mafat_diagnostic *d)
{
  size_t bytes = (size_t)n->n_layers * sizeof *f->entries;
  f->layers_at = mafat_packed_images_at(n->n_layers);
  char *beginning = malloc(MAFAT_PACKED_ALIGNMENT + bytes);
  f->entries = malloc(bytes);
  int code = beginning && f->entries ? read_beginning(f, beginning, MAFAT_PACKED_ALIGNMENT + bytes, d)
                                     : mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", f->name);
  if (code == MAFAT_OK) {
    memcpy(f->entries, beginning + MAFAT_PACKED_ALIGNMENT, bytes);
    code = mafat_packed_check_table(&f->header, f->entries, f->name, mafat_reads_file_bytes(f->reads), n, d);
  }
  free(beginning);
  return code;
}

/* ---- opening ---- */

static int check(struct mafat_weights_file *f, const struct mafat_network *n,
                 const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d)
{
  char beginning[sizeof f->header] = {0};
  uint64_t file_bytes = mafat_reads_file_bytes(f->reads);
  int code = read_beginning(f, beginning, sizeof beginning, d);
  if (code) return code;
  f->packed = file_bytes >= sizeof f->header && memcmp(beginning, mafat_packed_magic, MAFAT_PACKED_MAGIC_BYTES) == 0;
  if (f->packed) memcpy(&f->header, beginning, sizeof f->header);
  else code = read_darknet_header(f, beginning, d);
  if (code) return code;
  if (!f->packed) return check_length(f, n, warnings, d);
  if ((code = mafat_packed_check_header(&f->header, f->name, file_bytes, n, d))) return code;
  return read_table(f, n, d);
}

int mafat_weights_file_open(struct mafat_weights_file **out, const char *path, enum mafat_reads_method method,
                            const struct mafat_network *n, const struct mafat_warning_sink *warnings,
                            struct mafat_diagnostic *d)
{
  *out = NULL;
  struct mafat_weights_file *f = calloc(1, sizeof *f);
  if (f) f->name = strdup(path);
  int code = f && f->name ? mafat_reads_open(&f->reads, path, method, d)
                          : mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", path);
  if (code == MAFAT_OK) code = check(f, n, warnings, d);
  if (code == MAFAT_OK) *out = f;
  else mafat_weights_file_close(&f);
  return code;
}

void mafat_weights_file_close(struct mafat_weights_file **file)
{
  if (!file || !*file) return;
  mafat_reads_close(&(*file)->reads);
  free((*file)->entries);
  free((*file)->name);
  free(*file);
  *file = NULL;
}
