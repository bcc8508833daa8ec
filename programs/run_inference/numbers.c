/* Numbers of --mean, --scale and --pad. In a file of their own: few runs enter it. */
#include "programs/run_inference/session.h"

#include "programs/shared/decimal.h"

#include <math.h>
#include <stdlib.h>

/* "127.5", or "1/127.5"; the end of it, NULL: it is no number. */
static const char *read_number(const char *text, float *value)
{
  char *end;
  *value = strtof(text, &end);
  if (!mafat_decimal_begins(text) || !isfinite(*value)) return NULL;
  if (*end != '/') return end;
  const char *divisor = end + 1;
  *value /= strtof(divisor, &end);
  return !mafat_decimal_begins(divisor) || !isfinite(*value) ? NULL : end;
}

int mafat_options_numbers(const char *text, int n, float *values)
{
  int read = 0;
  for (; read < n; read++) {
    const char *end = read_number(text, &values[read]);
    if (!end || (*end && *end != ',')) return 0;
    if (!*end) break;
    text = end + 1;
  }
  if (read == n - 1) return n;
  for (int i = 1; i < n; i++) values[i] = values[0];
  return read == 0;
}

int mafat_session_check_picture(struct mafat_session *s, const struct mafat_query_facts *facts)
{
  const struct mafat_options *o = &s->options;
  struct mafat_model_facts model = {.size = sizeof model};
  if (!facts) mafat_model_describe(s->model, &model);
  int channels = facts ? facts->input_c : model.input_c;
  if ((o->n_mean < 3 && o->n_scale < 3) || channels != 1) return MAFAT_OK;
  return mafat_fail(&s->d, MAFAT_EINVAL, "--%s expects one number, for an input of one channel, found three",
                    o->n_mean < 3 ? "scale" : "mean");
}
