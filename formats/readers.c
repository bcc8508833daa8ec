/* The table of file formats, and the choice of a reader by a file's first bytes. Called by api/ and
 * runner/weights when files are opened, and by formats/packed/graph.c. Reads the first bytes of a
 * file. */
#include "formats/readers.h"

#include "base/part.h"

#include <string.h>

/* Readers in the order in which they are tried. The last one accepts every file. */
#define READERS(ROW) ROW(packed_graph) ROW(packed) ROW(tflite) ROW(onnx) ROW(darknet)

#define DECLARATION(name) extern const struct mafat_reader mafat_##name##_reader;
READERS(DECLARATION)
#define ADDRESS(name) &mafat_##name##_reader,
static const struct mafat_reader *const readers[] = {READERS(ADDRESS)};

enum { N_READERS = sizeof readers / sizeof *readers };

const struct mafat_reader *mafat_reader_of(struct mafat_model_source *s)
{
  if (!s->reader) mafat_model_source_look(s);
  for (int i = 0; !s->reader; i++)
    if (i == N_READERS - 1 || readers[i]->begins(s->beginning)) s->reader = readers[i];
  return s->reader;
}

const struct mafat_reader *mafat_reader_of_graphs(const char *name)
{
  for (int i = 0; i < N_READERS; i++)
    if (readers[i]->graph && strcmp(readers[i]->format.name, name) == 0) return readers[i];
  return NULL;
}

struct mafat_weights_kind mafat_reader_weights_kind(struct mafat_model_source *s)
{
  struct mafat_weights_kind kind = {0};
  const struct mafat_reader *reader = mafat_reader_of(s);
  if (reader->describe) reader->describe(&kind, s->beginning);
  return kind;
}

MAFAT_PART(opening)
static int read_graph(struct mafat_network **out, const struct mafat_reader *reader,
                      struct mafat_model_source *s, const struct mafat_given *given,
                      struct mafat_diagnostic *d)
{
  struct mafat_model_file *file;
  int code = mafat_model_file_open_source(&file, s, d);
  if (code == MAFAT_OK) code = reader->graph(out, file, given, d);
  mafat_model_file_close(&file);
  return code;
}

MAFAT_PART(opening)
int mafat_reader_network(struct mafat_network **out, struct mafat_model_source *s,
                         const struct mafat_reading *how, struct mafat_diagnostic *d)
{
  const struct mafat_reader *reader = mafat_reader_of(s);
  *out = NULL;
  if (how->given && how->given->n > 0 && !reader->graph)
    return mafat_fail(d, MAFAT_EINVAL,
                      "%s: constants are given to ONNX and TFLite files, found %.100s", s->path,
                      how->given->list[0]);
  return reader->network ? reader->network(out, s, how, d)
                         : read_graph(out, reader, s, how->given, d);
}
