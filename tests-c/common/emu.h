/*
 * What test programs ask of the emulated device: a request to its control socket, as `verbsguard emu-control` makes it.
 */
#ifndef EMU_H
#define EMU_H

#include <sys/socket.h>
#include <sys/un.h>

__attribute__((unused)) static void emu_control(const char *request)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	char answer[4096] = "";

	MUST(getenv("VERBSGUARD_EMU"));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/control", getenv("VERBSGUARD_EMU"));
	MUST(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	MUST(send(fd, request, strlen(request), 0) == (ssize_t)strlen(request));
	MUST(recv(fd, answer, sizeof(answer) - 1, 0) > 0 && !strstr(answer, "error"));
	close(fd);
}

/* Pulls the first device out: the emulated one, or the stand-in on a real kernel (tests-kernel/standin). */
__attribute__((unused)) static void remove_device(void)
{
	FILE *present;

	if (getenv("VERBSGUARD_EMU")) {
		emu_control("{\"op\":\"remove\",\"device\":0}");
		return;
	}
	present = fopen("/sys/kernel/debug/mlx5_standin/present", "w");
	MUST(present && fputs("0", present) >= 0 && fclose(present) == 0);
}

#endif
