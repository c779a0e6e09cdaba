/* Calls the variant of IBVERBS_1.0, as a program that was built long ago does; for tests/doctor.rs. */
struct ibv_pd;
struct ibv_pd *old_alloc_pd(void *context);
__asm__(".symver old_alloc_pd, ibv_alloc_pd@IBVERBS_1.0");

int main(int argc, char **argv)
{
	return argc > 1 && old_alloc_pd(argv[1]);
}
