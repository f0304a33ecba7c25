/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/guest/spec.h"

#define DEFAULT_MIB 2048 /* some programs of the corpus want that much */
#define MIN_MIB	    128
#define MAX_MIB	    (1u << 20)
#define MAX_CPUS    64
#define HEAD_BYTES  0x400

struct message {
	char *text;
	size_t size;
};

/* Always -1, for `return SAY(...)`. */
#define SAY(m, ...) (snprintf((m)->text, (m)->size, __VA_ARGS__), -1)

static const char *const arch_names[] = { "x86_64", "arm64" };

const char *vm_arch_name(enum vm_arch arch)
{
	return arch_names[arch];
}

/* Copy up to the next single comma; `,,` is one. Where the text goes on, or NULL: too long. */
static const char *take_part(const char *text, char *part, size_t size)
{
	size_t n = 0;

	while (*text && (text[0] != ',' || text[1] == ',')) {
		if (n + 1 >= size)
			return NULL;
		text += *text == ',';
		part[n++] = *text++;
	}
	part[n] = '\0';
	return *text ? text + 1 : text;
}

/* ---- options ---- */

static int take_memory(struct vm_guest_spec *s, const char *value, const struct message *m)
{
	char *end;
	unsigned long long n = strtoull(value, &end, 10);
	bool known = !*end || !strcasecmp(end, "M") || !strcasecmp(end, "G");

	if (!strcasecmp(end, "G") && n <= MAX_MIB)
		n *= 1024;
	if (end == value || *value == '-' || !known || n < MIN_MIB || n > MAX_MIB)
		return SAY(m, "qemu: mem=%s: give MiB, or 2G: from %dM to %uG", value, MIN_MIB,
			   MAX_MIB / 1024);
	s->mem_mib = n;
	return 0;
}

static int take_cpus(struct vm_guest_spec *s, const char *value, const struct message *m)
{
	char *end;
	unsigned long n = strtoul(value, &end, 10);

	if (end == value || *end || n < 1 || n > MAX_CPUS)
		return SAY(m, "qemu: cpus=%s: give a number from 1 to %d", value, MAX_CPUS);
	s->cpus = (unsigned int)n;
	return 0;
}

/* The index of value among n words, or -1 and said. */
static int take_word(const char *name, const char *value, const char *const *words, int n,
		     const struct message *m)
{
	char list[128] = "";

	for (int i = 0; i < n; i++) {
		size_t used = strlen(list);

		if (words[i] && !strcmp(value, words[i]))
			return i;
		if (words[i])
			snprintf(list + used, sizeof(list) - used, "%s%s", used ? " or " : "",
				 words[i]);
	}
	return SAY(m, "qemu: %s=%s: give %s", name, value, list);
}

static int take_path(char *to, size_t size, const char *name, const char *value,
		     const struct message *m)
{
	if (strlen(value) >= size)
		return SAY(m, "qemu: %s= is too long", name);
	strcpy(to, value);
	return 0;
}

struct parser {
	struct vm_guest_spec *s;
	bool arch_given;
	const struct message *m;
};

static int take_option(struct parser *p, const char *name, const char *value)
{
	static const char *const accels[] = { NULL, "tcg", "kvm" };
	static const char *const channels[] = { "auto", "virtio", "uart" };
	struct vm_guest_spec *s = p->s;
	int n = 0;

	if (!strcmp(name, "mem"))
		return take_memory(s, value, p->m);
	if (!strcmp(name, "cpus"))
		return take_cpus(s, value, p->m);
	if (!strcmp(name, "append"))
		return take_path(s->append, sizeof(s->append), name, value, p->m);
	if (!strcmp(name, "modules"))
		return take_path(s->modules, sizeof(s->modules), name, value, p->m);
	if (!strcmp(name, "arch")) {
		n = take_word(name, value, arch_names, VM_ARCH_COUNT, p->m);
		s->arch = n < 0 ? VM_ARCH_X86_64 : (enum vm_arch)n;
		p->arch_given = true;
	} else if (!strcmp(name, "accel")) {
		n = take_word(name, value, accels, 3, p->m);
		s->accel = n < 0 ? VM_ACCEL_AUTO : (enum vm_accel)n;
	} else if (!strcmp(name, "channel")) {
		n = take_word(name, value, channels, 3, p->m);
		s->channel = n < 0 ? VM_CHANNEL_AUTO : (enum vm_channel)n;
	} else {
		return SAY(p->m,
			   "qemu: no option '%s': there are mem, cpus, append, arch, "
			   "modules, accel, channel",
			   name);
	}
	return n < 0 ? -1 : 0;
}

static int take_options(struct parser *p, const char *text)
{
	char part[PATH_MAX + 16], *value;

	while (*text) {
		text = take_part(text, part, sizeof(part));
		if (!text)
			return SAY(p->m, "qemu: an option is too long");
		value = strchr(part, '=');
		if (!value)
			return SAY(p->m, "qemu: '%s' is no option: write name=value", part);
		*value++ = '\0';
		if (take_option(p, part, value))
			return -1;
	}
	return 0;
}

/* ---- the image ---- */

/* The magic numbers: Documentation/arch/x86/boot.rst, elf(5), Documentation/arch/arm64/booting.rst.
 */
static int kind_of(const uint8_t *head, size_t n, enum vm_arch *arch)
{
	if (n >= 0x206 && !memcmp(head + 0x202, "HdrS", 4))
		*arch = VM_ARCH_X86_64;
	else if (n >= 20 && !memcmp(head, "\177ELF", 4) && head[18] == 62)
		*arch = VM_ARCH_X86_64;
	else if (n >= 20 && !memcmp(head, "\177ELF", 4) && head[18] == 183)
		*arch = VM_ARCH_ARM64;
	else if (n >= 0x40 && !memcmp(head + 0x38, "ARM\x64", 4))
		*arch = VM_ARCH_ARM64;
	else
		return -1;
	return 0;
}

static int look_at_image(struct parser *p)
{
	struct vm_guest_spec *s = p->s;
	uint8_t head[HEAD_BYTES];
	enum vm_arch arch;
	struct stat st;
	int fd = open(s->image, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head));
	int error = n < 0 ? errno : 0;

	if (n >= 0 && !fstat(fd, &st) && S_ISDIR(st.st_mode))
		error = EISDIR;
	if (fd >= 0)
		close(fd);
	if (error)
		return SAY(p->m, "cannot read the kernel image %s: %s", s->image, strerror(error));
	if (kind_of(head, (size_t)n, &arch))
		return SAY(p->m,
			   "%s is no kernel image: give a bzImage, a vmlinux, or an arm64 "
			   "Image",
			   s->image);
	if (p->arch_given && arch != s->arch)
		return SAY(p->m, "%s is a kernel for %s, not %s", s->image, arch_names[arch],
			   arch_names[s->arch]);
	s->arch = arch;
	return 0;
}

int vm_guest_spec_parse(struct vm_guest_spec *s, const char *text, char *err, size_t errlen)
{
	struct message m = { err, errlen };
	struct parser p = { .s = s, .m = &m };

	s->mem_mib = DEFAULT_MIB;
	s->cpus = 1;
	text = take_part(text, s->image, sizeof(s->image));
	if (!text || !s->image[0])
		return SAY(&m, "qemu: lacks its image: use qemu:IMAGE[,option=value...]");
	if (take_options(&p, text))
		return -1;
	if (s->modules[0] && access(s->modules, R_OK | X_OK))
		return SAY(&m, "cannot read the modules in %s: %s", s->modules, strerror(errno));
	return look_at_image(&p);
}
