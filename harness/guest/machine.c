/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/guest/guest.h"
#include "harness/guest/machine.h"
#include "harness/guest/spawn.h"

#define MAX_ARGS  64
#define ARG_BYTES 8192

/* Descriptors of QEMU: 0, 1, 2, and the links' ends from here on. */
#define FIRST_LINK_FD 3

const char *vm_qemu_name(enum vm_arch arch)
{
	return arch == VM_ARCH_ARM64 ? "qemu-system-aarch64" : "qemu-system-x86_64";
}

/* ---- the command line ---- */

struct args {
	char *argv[MAX_ARGS];
	char text[ARG_BYTES];
	size_t n, used;
};

static void add(struct args *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(struct args *a, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(a->text + a->used, ARG_BYTES - a->used, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= ARG_BYTES - a->used || a->n + 1 >= MAX_ARGS) {
		a->n = MAX_ARGS; /* too long: see vm_machine_start() */
		return;
	}
	a->argv[a->n++] = a->text + a->used;
	a->argv[a->n] = NULL;
	a->used += (size_t)n + 1;
}

/* In QEMU's options a comma is doubled. */
static void escape(char *to, size_t size, const char *path)
{
	size_t n = 0;

	for (; *path && n + 2 < size; path++) {
		if (*path == ',')
			to[n++] = ',';
		to[n++] = *path;
	}
	to[n] = '\0';
}

static void add_machine(struct args *a, const struct vm_guest_spec *s, enum vm_accel accel)
{
	add(a, "%s", vm_qemu_name(s->arch));
	add(a, "-machine");
	add(a, "%s", s->arch == VM_ARCH_ARM64 ? "virt" : "q35");
	add(a, "-accel");
	add(a, "%s", accel == VM_ACCEL_KVM ? "kvm" : "tcg");
	add(a, "-cpu");
	if (accel == VM_ACCEL_KVM)
		add(a, "host");
	else
		add(a, "%s", s->arch == VM_ARCH_ARM64 ? "max,pauth-impdef=on" : "max");
	add(a, "-smp");
	add(a, "%u", s->cpus);
	add(a, "-m");
	add(a, "%llu", (unsigned long long)s->mem_mib);
	for (const char *const *w = (const char *const[]){ "-nodefaults", "-no-user-config",
							   "-display", "none", "-no-reboot", NULL };
	     *w; w++)
		add(a, "%s", *w);
}

/*
 * norandmaps: programs find the same addresses each time. nokaslr: so do those who read addresses
 * in the console. oops=panic: what comes after an oops is not worth knowing, and the program that
 * made it is still the one in flight. loglevel=5: warnings are shown. mitigations=off: they are not
 * tested here and may cost a good deal. no_timer_check: on a busy machine a guest without KVM
 * counts too few ticks while it boots, and panics ("IO-APIC + timer doesn't work").
 */
static void add_kernel(struct args *a, const struct vm_guest_spec *s, const char *initramfs)
{
	add(a, "-kernel");
	add(a, "%s", s->image);
	add(a, "-initrd");
	add(a, "%s", initramfs);
	add(a, "-append");
	add(a, "console=%s loglevel=5 panic=-1 oops=panic norandmaps nokaslr mitigations=off%s%s%s",
	    s->arch == VM_ARCH_ARM64 ? "ttyAMA0" : "ttyS0",
	    s->arch == VM_ARCH_ARM64 ? "" : " no_timer_check", s->append[0] ? " " : "", s->append);
}

static void add_channels(struct args *a, const struct vm_guest_spec *s, const char *console)
{
	char path[2 * PATH_MAX];

	escape(path, sizeof(path), console);
	add(a, "-chardev");
	add(a, "file,id=console,append=on,path=%s", path);
	add(a, "-serial");
	add(a, "chardev:console");
	if (s->channel != VM_CHANNEL_UART) {
		add(a, "-chardev");
		add(a, "socket,id=virtio,fd=%d", FIRST_LINK_FD + VM_LINK_VIRTIO);
		add(a, "-device");
		add(a, "virtio-serial-pci,max_ports=2");
		add(a, "-device");
		add(a, "virtserialport,chardev=virtio,name=" VM_GUEST_PORT);
	}
	/* The virt machine has one UART. */
	if (s->channel != VM_CHANNEL_VIRTIO && s->arch == VM_ARCH_X86_64) {
		add(a, "-chardev");
		add(a, "socket,id=uart,fd=%d", FIRST_LINK_FD + VM_LINK_UART);
		add(a, "-serial");
		add(a, "chardev:uart");
	}
}

/* ---- start and end ---- */

/* Descriptors while it starts: theirs, then closed. */
struct plugs {
	int link[VM_LINKS], null, err;
};

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void clear(struct vm_machine *m, struct plugs *p)
{
	const struct vm_process none = { .pid = 0, .in = -1, .out = -1, .err = -1 };

	m->process = none;
	m->active = -1;
	for (int i = 0; i < VM_LINKS; i++) {
		m->link[i].ends = none;
		m->link[i].stream.process = &m->link[i].ends;
		p->link[i] = -1;
	}
	p->null = p->err = -1;
}

void vm_machine_init(struct vm_machine *m)
{
	struct plugs none;

	*m = (struct vm_machine){ .active = -1 };
	clear(m, &none);
}

static int nonblocking(int fd)
{
	return fd < 0 ? -1 : fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/* Both directions of a link, each with a descriptor of its own. */
static int plug(struct vm_link *l, int *theirs)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -1;
	*theirs = pair[1];
	l->ends.in = pair[0];
	l->ends.out = fcntl(pair[0], F_DUPFD_CLOEXEC, 3);
	return nonblocking(l->ends.in) || l->ends.out < 0 ? -1 : 0;
}

static int plug_all(struct vm_machine *m, struct plugs *p, int nlinks)
{
	int err[2];

	clear(m, p);
	p->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (p->null < 0 || pipe2(err, O_CLOEXEC))
		return -1;
	p->err = err[1];
	m->link[0].ends.err = err[0];
	if (nonblocking(err[0]))
		return -1;
	for (int i = 0; i < nlinks; i++)
		if (plug(&m->link[i], &p->link[i]))
			return -1;
	return 0;
}

/* Start it with these descriptors; the plugs are closed in any case. */
static int start(struct vm_machine *m, struct plugs *p, char *const argv[], const int *fd, int nfds,
		 char *err, size_t errlen)
{
	int error = vm_spawn(&m->process.pid, argv, fd, nfds);
	char words[VM_LINE_MAX];

	for (int i = 0; i < VM_LINKS; i++) {
		close_one(&p->link[i]);
		vm_stream_start(&m->link[i].stream, &m->link[i].ends);
		/* QEMU dumps registers; if it ends of that, the last line is told. */
		m->link[i].stream.silent = true;
	}
	close_one(&p->null);
	close_one(&p->err);
	if (!error)
		return 0;
	vm_machine_stop(m, 0, words);
	if (error == ENOENT && !strncmp(argv[0], "qemu", 4))
		snprintf(err, errlen, "there is no %s: install the Debian package qemu-system-%s",
			 argv[0], strstr(argv[0], "aarch64") ? "arm" : "x86");
	else
		snprintf(err, errlen, "cannot start %s: %s", argv[0], strerror(error));
	return -1;
}

static int no_plugs(struct vm_machine *m, struct plugs *p, char *err, size_t errlen)
{
	char words[VM_LINE_MAX];

	snprintf(err, errlen, "cannot connect a guest: %s", strerror(errno));
	for (int i = 0; i < VM_LINKS; i++)
		close_one(&p->link[i]);
	close_one(&p->null);
	close_one(&p->err);
	vm_machine_stop(m, 0, words);
	return -1;
}

int vm_machine_start(struct vm_machine *m, const struct vm_guest_spec *spec, enum vm_accel accel,
		     const char *initramfs, const char *console, char *err, size_t errlen)
{
	struct args a = { .n = 0 };
	struct stat st;
	struct plugs p;

	add_machine(&a, spec, accel);
	add_kernel(&a, spec, initramfs);
	add_channels(&a, spec, console);
	if (a.n == MAX_ARGS) {
		snprintf(err, errlen, "the command line of QEMU is too long");
		return -1;
	}
	if (plug_all(m, &p, VM_LINKS))
		return no_plugs(m, &p, err, errlen);
	m->console_from = stat(console, &st) ? 0 : (uint64_t)st.st_size;
	return start(
		m, &p, a.argv,
		(const int[]){ p.null, p.err, p.err, p.link[VM_LINK_VIRTIO], p.link[VM_LINK_UART] },
		FIRST_LINK_FD + VM_LINKS, err, errlen);
}

int vm_machine_command(struct vm_machine *m, const char *command, char *err, size_t errlen)
{
	char *const argv[] = { "/bin/sh", "-c", (char *)(uintptr_t)command, NULL };
	struct plugs p;

	if (plug_all(m, &p, 1))
		return no_plugs(m, &p, err, errlen);
	return start(m, &p, argv, (const int[]){ p.link[0], p.link[0], p.err }, 3, err, errlen);
}

int vm_machine_stop(struct vm_machine *m, unsigned int grace_ms, char words[VM_LINE_MAX])
{
	int status = vm_process_stop(&m->process, grace_ms);

	vm_stream_last_words(&m->link[0].stream, words);
	for (int i = 0; i < VM_LINKS; i++) {
		close_one(&m->link[i].ends.in);
		close_one(&m->link[i].ends.out);
		close_one(&m->link[i].ends.err);
	}
	m->active = -1;
	return status;
}

void vm_machine_free(struct vm_machine *m)
{
	char words[VM_LINE_MAX];

	vm_machine_stop(m, 0, words);
	for (int i = 0; i < VM_LINKS; i++)
		vm_stream_free(&m->link[i].stream);
}
