/*
 * A program that is linked to verbs and uses none: no output, no file.
 *
 * log: file
 */
#include "../common/trace.h"

int main(void)
{
	return 0;
	return 0;
}
