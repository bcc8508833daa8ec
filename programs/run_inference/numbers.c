/* Checks the values of --mean and --scale against the channels. Called by predict.c and
 * run_inference.c. It is in a file of its own, so that runner/os/parts.def can keep it out of the
 * memory of ordinary runs. On failure writes a message to s->d. */
#include "programs/run_inference/session.h"

int mafat_session_check_picture(struct mafat_session *s, const struct mafat_dry_run_facts *facts)
{
  const struct mafat_options *o = &s->options;
  struct mafat_model_facts model = {.size = sizeof model};
  if (!facts) mafat_model_describe(s->model, &model);
  int channels = facts ? facts->input_c : model.input_c;
  if ((o->mean.n < 3 && o->scale.n < 3) || channels != 1) return MAFAT_OK;
  return mafat_fail(&s->d, MAFAT_EINVAL,
                    "--%s expects one number, for an input of one channel, found three",
                    o->mean.n < 3 ? "scale" : "mean");
}
