/* Members of a struct for the rows of options.def's section. It is included inside the struct.
 * Included by programs/annotate/annotate.c, programs/make_weights/make_weights.c,
 * programs/pack_weights/pack_weights.c and programs/run_inference/options.h. */
#define MEMBER_FLAG bool
#define MEMBER_TEXT const char *
#define MEMBER_NAME const char *
#define MEMBER_WORD const char *
#define MEMBER_OPTIONAL_WORD const char *
#define MEMBER_SIZE size_t
#define MEMBER_COUNT int
#define MEMBER_COUNT_OR_AUTO int
#define MEMBER_NUMBER double
#define MEMBER_FRACTION float
#define MEMBER_FLOAT struct mafat_option_floats
#define MEMBER_FLOATS struct mafat_option_floats
#define MEMBER_LIST struct mafat_option_list
#define MEMBER_PAIRS struct mafat_option_list
#define MEMBER_SIZES struct mafat_option_sizes
#define MEMBER_OPTIONAL_SIZES struct mafat_option_sizes
#define MEMBER_SPEEDS struct mafat_option_speeds
#define MEMBER_LINK struct mafat_option_link
#define OPTION(id, name, letter, type, ...) MEMBER_##type id;
#include "programs/shared/options.def"
