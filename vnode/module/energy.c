// SPDX-License-Identifier: GPL-2.0
/*
 * The energy of the virtual package: idle power all the time, and while a CPU is busy the power of
 * its kind, in proportion to its clock. A model; no hardware consumes this.
 */
#include <linux/cpufreq.h>
#include <linux/ktime.h>
#include <linux/module.h>

#include "vnode.h"

static unsigned int idle_mw = 10000;
module_param(idle_mw, uint, 0644);
MODULE_PARM_DESC(idle_mw, "power of the idle package in mW");

static unsigned int busy_mw[KINDS] = { 20000, 5000, 2000 };
module_param_array(busy_mw, uint, NULL, 0644);
MODULE_PARM_DESC(busy_mw, "power of a busy CPU at its highest clock in mW: of P, E, LP-E");

static bool energy_stands_still;
module_param(energy_stands_still, bool, 0644);
MODULE_PARM_DESC(energy_stands_still, "a lie: no counter of energy moves");

#define PJ_PER_UJ 1000000 /* mW * ns = pJ */

static DEFINE_RAW_SPINLOCK(lock);
static u64 last_ns, last_busy_ns[NR_CPUS], package_pj, cpu_pj[NR_CPUS];

/*
 * Not from the CPU's ticks: of several busy CPUs that take turns in one thread of the host, each gets
 * its ticks in its turn only, and would seem to be idle in the others'.
 */
static u64 busy_ns(int cpu)
{
	u64 wall_us, idle_us = get_cpu_idle_time(cpu, &wall_us, 0);

	return (wall_us - idle_us) * NSEC_PER_USEC;
}

void energy_start(void)
{
	int cpu;

	last_ns = ktime_get_ns();
	for_each_possible_cpu(cpu)
		last_busy_ns[cpu] = busy_ns(cpu);
}

static void add_up(void)
{
	u64 now = ktime_get_ns();
	u64 since_ns = now - last_ns;
	int cpu;

	package_pj += since_ns * idle_mw;
	last_ns = now;
	for_each_online_cpu(cpu) {
		u64 busy = busy_ns(cpu);
		u64 busy_for_ns = busy - last_busy_ns[cpu];
		u64 full_pj, pj;

		last_busy_ns[cpu] = busy;
		/* The kernel forgets the idle time of a CPU that goes offline, and may round it. */
		if (busy_for_ns > since_ns + NSEC_PER_MSEC)
			continue;
		full_pj = busy_for_ns * busy_mw[kind_of(cpu)];
		/* The clock as a share in 1/1024, so that the product stays far below 64 bits. */
		pj = (full_pj >> 10) * div_u64((u64)current_khz(cpu) << 10, highest_khz(cpu));
		package_pj += pj;
		cpu_pj[cpu] += pj;
	}
}

/* Of the package, or of the CPUs of a mask without what the package uses beside them. */
static u64 read_uj(const struct cpumask *cpus)
{
	unsigned long flags;
	u64 pj;
	int cpu;

	raw_spin_lock_irqsave(&lock, flags);
	if (!energy_stands_still)
		add_up();
	pj = cpus ? 0 : package_pj;
	if (cpus)
		for_each_cpu(cpu, cpus)
			pj += cpu_pj[cpu];
	raw_spin_unlock_irqrestore(&lock, flags);
	return div_u64(pj, PJ_PER_UJ);
}

u64 package_uj(void)
{
	return read_uj(NULL);
}

u64 core_uj(void)
{
	return read_uj(cpu_possible_mask);
}

u64 uj_of(const struct cpumask *cpus)
{
	return read_uj(cpus);
}

static int total_get(char *text, const struct kernel_param *parameter)
{
	return sysfs_emit(text, "%llu\n", package_uj());
}
static const struct kernel_param_ops total_ops = { .get = total_get };
module_param_cb(package_total_uj, &total_ops, NULL, 0444);
MODULE_PARM_DESC(package_total_uj, "the package's energy since loading in µJ, never wrapped");
