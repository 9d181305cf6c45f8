/* peak COMMAND ARG... runs the command and prints its peak memory in KiB.
 *
 * Linux counts into a process's peak what its parent held when it was forked
 * off, and a Go parent holds more than some of the commands use. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
	int status;
	struct rusage u;
	pid_t pid = argc > 1 ? fork() : -1;
	if (pid == 0) {
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &u) != pid)
		return 3;
	printf("%ld\n", u.ru_maxrss);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}
