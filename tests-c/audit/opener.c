/* Opens what it is told to: from outside nothing shows; for tests/doctor.rs. */
#include <dlfcn.h>
#include <stddef.h>

int main(int argc, char **argv)
{
	return argc > 1 && dlopen(argv[1], RTLD_NOW) == NULL;
}
