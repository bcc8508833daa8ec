/* The rows of options.def as a static table `options_table` of the struct OPTIONS_STRUCT, with a
 * constant OPTION_id for each. The includer defines both the struct and the section. A program with
 * one section has no use for PROGRAMS. Included by programs/annotate/annotate.c,
 * programs/make_weights/make_weights.c, programs/pack_weights/pack_weights.c and
 * programs/run_inference/options.c. */
#include "programs/shared/option.h"

#ifndef RUN /* programs: bits of mafat_option.programs */
#define RUN 1
#define SERVE 2
#define RANKS 4
#define ANY 7 /* of a section that is a program's own */
#endif

/* The texts side by side, each at an offset that is known as this is compiled. */
static const struct options_texts {
#define OPTION(id, name, letter, type, usual, argument, values, expects, ...) \
  char name_##id[sizeof name], argument_##id[sizeof argument], values_##id[sizeof values], \
      expects_##id[sizeof expects];
#define RENAMED(id, name, type) char name_##id[sizeof name];
#include "programs/shared/options.def"
  char none;
} options_texts = {
#define OPTION(id, name, letter, type, usual, argument, values, expects, ...) \
  name, argument, values, expects,
#define RENAMED(id, name, type) name,
#include "programs/shared/options.def"
    '\0'};

#define TEXT_AT(member) (uint16_t) offsetof(struct options_texts, member)
static const struct mafat_option options_rows[] = {
#define OPTION(id, text, key, kind, usual, a, v, e, sets, who, help) \
  {.name = TEXT_AT(name_##id), \
   .argument = TEXT_AT(argument_##id), \
   .values = TEXT_AT(values_##id), \
   .expects = TEXT_AT(expects_##id), \
   .member = (uint16_t)offsetof(OPTIONS_STRUCT, id), \
   .type = MAFAT_OPTION_##kind, \
   .letter = key, \
   .programs = who},
#define RENAMED(id, text, kind) \
  {.name = TEXT_AT(name_##id), \
   .argument = TEXT_AT(none), \
   .values = TEXT_AT(none), \
   .expects = TEXT_AT(none), \
   .member = (uint16_t)offsetof(OPTIONS_STRUCT, renamed_##kind), \
   .type = MAFAT_OPTION_##kind, \
   .programs = RUN | SERVE | RANKS, \
   .renamed = true},
#include "programs/shared/options.def"
};
#undef TEXT_AT

enum {
#define OPTION(id, ...) OPTION_##id,
#define RENAMED(id, ...) OPTION_##id,
#include "programs/shared/options.def"
  N_OPTIONS
};

static const struct mafat_option_variable options_variables[] = {
#define ENVIRONMENT(id, variable) {OPTION_##id, variable},
#include "programs/shared/options.def"
  {0, ""}};

static const struct mafat_option_table options_table = {
    options_rows, N_OPTIONS, (const char *)&options_texts, options_variables,
    sizeof options_variables / sizeof *options_variables - 1};
