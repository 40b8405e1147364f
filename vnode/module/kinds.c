// SPDX-License-Identifier: GPL-2.0
/* Which CPUs of the virtual node are P, E and LP-E cores. */
#include <linux/module.h>

#include "vnode.h"

static char *cpus[KINDS] = { "", "", "" };
module_param_named(pcpus, cpus[KIND_P], charp, 0444);
MODULE_PARM_DESC(pcpus, "CPU list of the P-cores");
module_param_named(ecpus, cpus[KIND_E], charp, 0444);
MODULE_PARM_DESC(ecpus, "CPU list of the E-cores");
module_param_named(lpecpus, cpus[KIND_LPE], charp, 0444);
MODULE_PARM_DESC(lpecpus, "CPU list of the LP-E-cores");

static struct cpumask masks[KINDS];

int kinds_start(void)
{
	int kind, cpu, error;

	for (kind = 0; kind < KINDS; kind++) {
		error = cpulist_parse(cpus[kind], &masks[kind]);
		if (error)
			return error;
	}
	for_each_present_cpu(cpu) {
		int named = 0;

		for (kind = 0; kind < KINDS; kind++)
			named += cpumask_test_cpu(cpu, &masks[kind]);
		if (named != 1)
			return -EINVAL;
	}
	return 0;
}

const struct cpumask *kind_cpus(enum kind kind)
{
	return &masks[kind];
}

enum kind kind_of(int cpu)
{
	if (cpumask_test_cpu(cpu, &masks[KIND_LPE]))
		return KIND_LPE;
	return cpumask_test_cpu(cpu, &masks[KIND_E]) ? KIND_E : KIND_P;
}

bool is_hybrid(void)
{
	return !cpumask_empty(&masks[KIND_E]) || !cpumask_empty(&masks[KIND_LPE]);
}
