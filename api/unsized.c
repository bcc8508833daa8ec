/* The functions of the plain names, for programs linked with version 0.1.0. */
#define MAFAT_WITHOUT_INLINE
#include "api/unsized.h"

void mafat_model_defaults(struct mafat_model_options *options)
{
  mafat_model_defaults_sized(options, MAFAT_UNSIZED_model_options);
}

int mafat_model_open(struct mafat_model **out, const char *cfg_path, const char *weights_path,
                     const struct mafat_model_options *options, struct mafat_diagnostic *d)
{
  return mafat_model_open_sized(out, cfg_path, weights_path, options, MAFAT_UNSIZED_model_options, d);
}

void mafat_model_describe(const struct mafat_model *model, struct mafat_model_facts *facts)
{
  mafat_model_describe_sized(model, facts, MAFAT_UNSIZED_model_facts);
}

int mafat_model_layer(const struct mafat_model *model, int layer, struct mafat_layer_facts *facts)
{
  return mafat_model_layer_sized(model, layer, facts, MAFAT_UNSIZED_layer_facts);
}

int mafat_model_group(const struct mafat_model *model, int group, struct mafat_group_facts *facts)
{
  return mafat_model_group_sized(model, group, facts, MAFAT_UNSIZED_group_facts);
}

void mafat_model_last_run(const struct mafat_model *model, struct mafat_run_facts *facts)
{
  mafat_model_last_run_sized(model, facts, MAFAT_UNSIZED_run_facts);
}

void mafat_process_measure(struct mafat_process_facts *facts)
{
  mafat_process_measure_sized(facts, MAFAT_UNSIZED_process_facts);
}

void mafat_model_check(const struct mafat_model *model, size_t resident_bytes, struct mafat_check *check)
{
  mafat_model_check_sized(model, resident_bytes, check, MAFAT_UNSIZED_check);
}

int mafat_query_open(struct mafat_query **out, const char *cfg_path, const char *weights_path,
                     const struct mafat_model_options *options, struct mafat_diagnostic *d)
{
  return mafat_query_open_sized(out, cfg_path, weights_path, options, MAFAT_UNSIZED_model_options, d);
}

void mafat_query_describe(const struct mafat_query *query, struct mafat_query_facts *facts)
{
  mafat_query_describe_sized(query, facts, MAFAT_UNSIZED_query_facts);
}

int mafat_query_front(const struct mafat_query *query, int index, struct mafat_front_facts *facts)
{
  return mafat_query_front_sized(query, index, facts, MAFAT_UNSIZED_front_facts);
}

int mafat_answer_layer(const struct mafat_answer *answer, int layer, struct mafat_layer_facts *facts)
{
  return mafat_answer_layer_sized(answer, layer, facts, MAFAT_UNSIZED_layer_facts);
}

int mafat_answer_group(const struct mafat_answer *answer, int group, struct mafat_group_facts *facts)
{
  return mafat_answer_group_sized(answer, group, facts, MAFAT_UNSIZED_group_facts);
}

int mafat_answer_paper(const struct mafat_answer *answer, struct mafat_paper_facts *facts, struct mafat_diagnostic *d)
{
  return mafat_answer_paper_sized(answer, facts, MAFAT_UNSIZED_paper_facts, d);
}

void mafat_calibrate_defaults(struct mafat_calibrate_options *options)
{
  mafat_calibrate_defaults_sized(options, MAFAT_UNSIZED_calibrate_options);
}

int mafat_calibrate(struct mafat_calibration_facts *out, const struct mafat_calibrate_options *options,
                    struct mafat_diagnostic *d)
{
  return mafat_calibrate_sized(out, MAFAT_UNSIZED_calibration_facts, options, MAFAT_UNSIZED_calibrate_options, d);
}
