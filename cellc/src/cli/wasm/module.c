/* The functions of the module. */
#include "PREFIX.h"

#define VISIBLE __attribute__((visibility("default")))

static PREFIX network;
//* field
static TYPE EXPORT_elements[LEN];
VISIBLE void *EXPORT(void);
VISIBLE void *EXPORT(void) { return EXPORT_elements; }
//.

VISIBLE void *state(void);
VISIBLE void *state(void) { return &network; }
VISIBLE size_t state_size(void);
VISIBLE size_t state_size(void) { return sizeof network; }
VISIBLE void reset(void);
VISIBLE void reset(void) { PREFIX_init(&network); }
VISIBLE void step(void);
VISIBLE void step(void) { PREFIX_step(&networkARGUMENTS); }
