// SPDX-License-Identifier: GPL-2.0
/*
 * Who places threads, as far as files show it; in truth the kernel's own scheduler always does. Only
 * with the parameter `scheduling`:
 *
 * sched_ext (kernel/sched/ext.c): /sys/kernel/sched_ext, and a device for what stands for a BPF
 * scheduler. Who writes a name loads it, and unloads it by closing the device, as the end of a
 * process does. The parameter throw_out takes a reason and throws it out; who reads the device then
 * gets the reason.
 *
 * sched_energy_aware (kernel/sched/topology.c): empty, and refusing, unless every CPU has the
 * governor schedutil. The guest's kernel has an older one, so it is /proc/sys/pinstudy/… that
 * shows the later rules. sched_itmt_enabled (arch/x86/kernel/itmt.c), as up to Linux 6.12.
 */
#include <linux/cpu.h>
#include <linux/cpufreq.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/kobject.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sysctl.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "vnode.h"

static uint unload_ms = 50;
module_param(unload_ms, uint, 0644);
MODULE_PARM_DESC(unload_ms, "how long the state is `disabling`");

static DEFINE_MUTEX(lock);
static DECLARE_WAIT_QUEUE_HEAD(thrown);
static const char *state = "disabled";
static unsigned long loaded;
static char name[128], reason[256];
static struct file *owner;
static struct kobject *folder, *root;

static ssize_t state_show(struct kobject *object, struct kobj_attribute *attribute, char *text)
{
	return sysfs_emit(text, "%s\n", READ_ONCE(state));
}
static struct kobj_attribute state_attribute = __ATTR_RO(state);

static ssize_t enable_seq_show(struct kobject *object, struct kobj_attribute *attribute, char *text)
{
	return sysfs_emit(text, "%lu\n", READ_ONCE(loaded));
}
static struct kobj_attribute enable_seq_attribute = __ATTR_RO(enable_seq);

static struct attribute *attributes[] = {
	&state_attribute.attr,
	&enable_seq_attribute.attr,
	NULL,
};
static const struct attribute_group group = { .attrs = attributes };

static ssize_t ops_show(struct kobject *object, struct kobj_attribute *attribute, char *text)
{
	return sysfs_emit(text, "%s\n", name);
}
static struct kobj_attribute ops_attribute = __ATTR_RO(ops);

/* The following two are called with the lock. */
static int load(struct file *file)
{
	int error;

	WRITE_ONCE(state, "enabling");
	root = kobject_create_and_add("root", folder);
	error = root ? sysfs_create_file(root, &ops_attribute.attr) : -ENOMEM;
	if (error) {
		kobject_put(root);
		WRITE_ONCE(state, "disabled");
		return error;
	}
	owner = file;
	WRITE_ONCE(loaded, loaded + 1);
	WRITE_ONCE(state, "enabled");
	return 0;
}

static void unload(void)
{
	owner = NULL;
	WRITE_ONCE(state, "disabling");
	msleep(unload_ms);
	kobject_put(root);
	WRITE_ONCE(state, "disabled");
}

static ssize_t device_write(struct file *file, const char __user *text, size_t length, loff_t *at)
{
	char given[sizeof(name)] = "";
	int error = 0;

	if (length >= sizeof(given))
		return -E2BIG;
	if (copy_from_user(given, text, length))
		return -EFAULT;
	mutex_lock(&lock);
	if (owner) {
		error = -EBUSY;
	} else {
		strscpy(name, strim(given), sizeof(name));
		reason[0] = '\0';
		error = load(file);
	}
	mutex_unlock(&lock);
	return error ?: length;
}

static ssize_t device_read(struct file *file, char __user *text, size_t length, loff_t *at)
{
	if (wait_event_interruptible(thrown, READ_ONCE(owner) != file))
		return -ERESTARTSYS;
	return simple_read_from_buffer(text, length, at, reason, strlen(reason));
}

static int device_release(struct inode *inode, struct file *file)
{
	mutex_lock(&lock);
	if (owner == file)
		unload();
	mutex_unlock(&lock);
	return 0;
}

static const struct file_operations device_operations = {
	.owner = THIS_MODULE,
	.write = device_write,
	.read = device_read,
	.release = device_release,
};
static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "pinstudy_sched_ext",
	.fops = &device_operations,
	.mode = 0600,
};

static int throw_out(const char *text, const struct kernel_param *parameter)
{
	mutex_lock(&lock);
	if (owner) {
		strscpy(reason, text, sizeof(reason));
		unload();
		wake_up_all(&thrown);
	}
	mutex_unlock(&lock);
	return 0;
}
static const struct kernel_param_ops throw_out_operations = { .set = throw_out };
module_param_cb(throw_out, &throw_out_operations, NULL, 0200);
MODULE_PARM_DESC(throw_out, "throws the scheduler of sched_ext out, for this reason");

static unsigned int energy_aware = 1, itmt = 1;

static bool energy_aware_is_possible(void)
{
	bool possible = true;
	int cpu;

	for_each_online_cpu(cpu) {
		struct cpufreq_policy *policy = cpufreq_cpu_get(cpu);

		if (!policy)
			return false;
		possible &= policy->governor && !strcmp(policy->governor->name, "schedutil");
		cpufreq_cpu_put(policy);
	}
	return possible;
}

static int handle_energy_aware(struct ctl_table *table, int write, void *text, size_t *length,
			       loff_t *at)
{
	if (energy_aware_is_possible())
		return proc_douintvec_minmax(table, write, text, length, at);
	if (write)
		return -EOPNOTSUPP;
	*length = 0;
	return 0;
}

static struct ctl_table of_energy[] = {
	{
		.procname = "sched_energy_aware",
		.data = &energy_aware,
		.maxlen = sizeof(energy_aware),
		.mode = 0644,
		.proc_handler = handle_energy_aware,
		.extra1 = SYSCTL_ZERO,
		.extra2 = SYSCTL_ONE,
	},
	{}
};
static struct ctl_table of_itmt[] = {
	{
		.procname = "sched_itmt_enabled",
		.data = &itmt,
		.maxlen = sizeof(itmt),
		.mode = 0644,
		.proc_handler = proc_douintvec_minmax,
		.extra1 = SYSCTL_ZERO,
		.extra2 = SYSCTL_ONE,
	},
	{}
};
static struct ctl_table_header *energy_header, *itmt_header;

int scheduler_start(void)
{
	int error;

	if (!has_scheduling)
		return 0;
	folder = kobject_create_and_add("sched_ext", kernel_kobj);
	if (!folder)
		return -ENOMEM;
	error = sysfs_create_group(folder, &group);
	if (!error)
		error = misc_register(&device);
	if (error) {
		kobject_put(folder);
		return error;
	}
	energy_header = register_sysctl("pinstudy", of_energy);
	itmt_header = register_sysctl("kernel", of_itmt);
	if (energy_header && itmt_header)
		return 0;
	scheduler_stop();
	return -ENOMEM;
}

void scheduler_stop(void)
{
	if (!has_scheduling)
		return;
	if (itmt_header)
		unregister_sysctl_table(itmt_header);
	if (energy_header)
		unregister_sysctl_table(energy_header);
	misc_deregister(&device);
	kobject_put(folder);
}
