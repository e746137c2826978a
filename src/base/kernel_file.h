/* SPDX-License-Identifier: MIT */
/* kernel_file.h - writes a value to a file of the kernel, in one piece. */
#ifndef GLOCK__KERNEL_FILE_H
#define GLOCK__KERNEL_FILE_H

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Returns 0, or the error of the kernel as negative errno. */
static inline int glock__kernel_file_put(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, value, strlen(value)) < 0)
		err = -errno;
	close(fd);
	return err;
}

#endif
