// SPDX-License-Identifier: GPL-2.0
/*
 * A test fixture for guests of QEMU: gives the kernel what it would find on a hybrid node. Its
 * numbers are those of a model. It is loaded in the virtual node only and never installed.
 */
#include <linux/module.h>

#include "vnode.h"

bool has_scheduling;
module_param_named(scheduling, has_scheduling, bool, 0444);
MODULE_PARM_DESC(scheduling, "schedutil, energy-aware scheduling, ITMT and sched_ext are there");

static const struct part {
	int (*start)(void);
	void (*stop)(void);
} parts[] = {
	{ frequency_start, frequency_stop },
	{ powercap_start, powercap_stop },
	{ energy_pmus_start, energy_pmus_stop },
	{ core_pmus_start, core_pmus_stop },
	{ sensors_start, sensors_stop },
	{ board_start, board_stop },
	{ scheduler_start, scheduler_stop },
};

static void stop(int started)
{
	while (started--)
		parts[started].stop();
}

static int __init vnode_init(void)
{
	int i, error = kinds_start();

	if (error)
		return error;
	energy_start();
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		error = parts[i].start();
		if (error) {
			stop(i);
			return error;
		}
	}
	return 0;
}

static void __exit vnode_exit(void)
{
	stop(ARRAY_SIZE(parts));
}

module_init(vnode_init);
module_exit(vnode_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Test fixture: a virtual hybrid node");
