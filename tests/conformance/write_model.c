/* Writes a conformance model as one file with its constants. Called by onnx_nodes.c. */
#include "tests/conformance/write_model.h"

#include "formats/onnx/wire.h"
#include "tests/support/onnx_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRAPH = 7, INITIALIZER = 5, NAME = 8, MOST_BYTES = 1 << 24 };

/* Appends the file's bytes from offset `at` to the message. */
static int append_bytes(struct test_message *to, struct mafat_model_file *file, uint64_t at,
                       uint64_t bytes, struct mafat_diagnostic *d)
{
  if (bytes > MOST_BYTES) return mafat_fail(d, MAFAT_ELIMIT, "%s: is too large", file->path);
  char *data = malloc((size_t)bytes + 1);
  int code = data ? mafat_model_file_read(file, at, (size_t)bytes, data, d) : MAFAT_ENOMEM;
  if (code == MAFAT_OK) test_put_bytes(to, data, (size_t)bytes);
  free(data);
  return code;
}

static int put_initializer(struct test_message *graph, const char *name, const char *path,
                           struct mafat_diagnostic *d)
{
  struct mafat_model_file *file;
  struct test_message tensor = {0};
  int code = mafat_model_file_open(&file, path, d);
  if (code) return code;
  code = append_bytes(&tensor, file, 0, file->bytes, d);
  test_put_text(&tensor, NAME, name); /* overrides the file's own name: readers use a field's last
                                       * value */
  test_put_message(graph, INITIALIZER, &tensor);
  mafat_model_file_close(&file);
  return code;
}

static int put_graph(struct test_message *to, const struct node_trial *t,
                     const struct mafat_wire_field *f, struct mafat_diagnostic *d)
{
  struct test_message graph = {0};
  int input = trial_input(t), code = append_bytes(&graph, t->file, f->at, f->bytes, d);
  for (int i = 0; i < t->n_inputs && code == MAFAT_OK; i++)
    if (i != input && t->inputs[i].rank >= 0)
      code = put_initializer(&graph, t->model->inputs[i]->name, t->inputs[i].path, d);
  test_put_message(to, GRAPH, &graph);
  return code;
}

static bool write_file(const struct test_message *m, const struct node_trial *t, const char *folder,
                       struct mafat_diagnostic *d)
{
  const char *slash = strrchr(t->folder, '/');
  char path[1024];
  snprintf(path, sizeof path, "%s/%s.onnx", folder, slash ? slash + 1 : t->folder);
  FILE *file = fopen(path, "wb");
  bool written = file && fwrite(m->data, 1, m->n, file) == m->n;
  if (file && fclose(file) != 0) written = false;
  if (!written) mafat_fail(d, MAFAT_EIO, "%s: cannot be written", path);
  return written;
}

bool write_model(const struct node_trial *t, const char *folder, struct mafat_diagnostic *d)
{
  struct mafat_wire_source source = {.file = t->file, .d = d, .number = -1};
  struct mafat_wire w = mafat_wire_whole(&source);
  struct test_message m = {0};
  uint64_t begin = 0;
  int code = MAFAT_OK;
  for (struct mafat_wire_field f; code == MAFAT_OK && mafat_wire_next(&w, &f); begin = w.at)
    code = f.number == GRAPH ? put_graph(&m, t, &f, d)
                             : append_bytes(&m, t->file, begin, w.at - begin, d);
  bool written = code == MAFAT_OK && w.code == MAFAT_OK && write_file(&m, t, folder, d);
  free(m.data);
  return written;
}
