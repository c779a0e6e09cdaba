/*
 * The UCX of NIXL's wheel, which is linked with the libibverbs and libmlx5 that the wheel brings: it opens every device
 * that it finds and registers memory there, as NIXL's UCX plugin does.
 *
 * expect: none
 */
#include "../common/trace.h"

#include <dlfcn.h>

/* uct.h of UCX, as far as it is used here. */
#define NAME_LENGTH 16
#define NAME_AND_COUNT 3
#define RESOURCES 4
#define ACCESS_ALL (0x1f << 5)

struct attributes {
	uint64_t field_mask;
	char name[NAME_LENGTH];
	unsigned count;
	char (*resources)[NAME_LENGTH];
	uint64_t flags;
	uint64_t more[8];
};

static int (*uct_query_components)(void ***, unsigned *);
static int (*uct_component_query)(void *, struct attributes *);
static int (*uct_md_config_read)(void *, const char *, const char *, void **);
static int (*uct_md_open)(void *, const char *, const void *, void **);
static int (*uct_md_mem_reg)(void *, void *, size_t, unsigned, void **);
static int (*uct_md_mem_dereg)(void *, void *);
static void (*uct_md_close)(void *);

#define FIND(name) MUST(*(void **)&name = dlsym(library, #name))

static void open_device_of(void *component, const char *name)
{
	void *config, *md, *memory;

	MUST(uct_md_config_read(component, NULL, NULL, &config) == 0);
	printf("device %s\n", name);
	MUST(INT(uct_md_open(component, name, config, &md)) == 0);
	MUST(INT(uct_md_mem_reg(md, buffer, sizeof(buffer), ACCESS_ALL, &memory)) == 0);
	MUST(INT(uct_md_mem_dereg(md, memory)) == 0);
	VOID(uct_md_close(md));
}

static unsigned open_all_of(void *component)
{
	struct attributes attributes = { .field_mask = NAME_AND_COUNT };

	MUST(uct_component_query(component, &attributes) == 0);
	printf("component %s: %u\n", attributes.name, attributes.count);
	if (strcmp(attributes.name, "ib") != 0 || attributes.count == 0)
		return 0;
	attributes.resources = calloc(attributes.count, NAME_LENGTH);
	attributes.field_mask = RESOURCES;
	MUST(uct_component_query(component, &attributes) == 0);
	for (unsigned at = 0; at < attributes.count; at++)
		open_device_of(component, attributes.resources[at]);
	return attributes.count;
}

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	unsigned count, opened = 0;
	void **components;

	if (!library)
		fprintf(stderr, "%s\n", dlerror());
	MUST(library);
	FIND(uct_query_components);
	FIND(uct_component_query);
	FIND(uct_md_config_read);
	FIND(uct_md_open);
	FIND(uct_md_mem_reg);
	FIND(uct_md_mem_dereg);
	FIND(uct_md_close);
	MUST(uct_query_components(&components, &count) == 0);
	for (unsigned at = 0; at < count; at++)
		opened += open_all_of(components[at]);
	MUST(opened > 0);
	return 0;
}
