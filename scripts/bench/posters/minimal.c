/* What minimal/main.go does, in C. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(void) {
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	const char *path = getenv("CLAUDE_CODE_MESSAGING_SOCKET");
	const char *token = getenv("CLAUDE_CODE_MESSAGING_TOKEN");
	char lines[4096], rest[512];
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (fd < 0 || !path || !token || strlen(path) >= sizeof a.sun_path)
		return 3;
	strcpy(a.sun_path, path);
	if (connect(fd, (struct sockaddr *)&a, sizeof a) != 0)
		return 3;
	int n = snprintf(lines, sizeof lines,
		"{\"type\":\"auth\",\"token\":\"%s\"}\n"
		"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"the build is red\"}}\n", token);
	if (n >= (int)sizeof lines || write(fd, lines, n) != n || shutdown(fd, SHUT_WR) != 0)
		return 3;
	while ((n = read(fd, rest, sizeof rest)) > 0)
		;
	return n == 0 ? 0 : 3;
}
