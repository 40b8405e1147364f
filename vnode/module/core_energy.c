// SPDX-License-Identifier: GPL-2.0
/*
 * perf's PMU `power_core`, as arch/x86/events/rapl.c presents it on AMD: a counter of energy for each
 * core. It may be read on any CPU of the core; the cpumask has the first.
 */
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/topology.h>

#include "vnode.h"

static bool core_energy;
module_param(core_energy, bool, 0444);
MODULE_PARM_DESC(core_energy, "each core has a counter of its energy");

static uint core_energy_permille = 1000;
module_param(core_energy_permille, uint, 0644);
MODULE_PARM_DESC(core_energy_permille, "a lie: the cores count so many thousandths of their energy");

enum { ENERGY_CORE = 1 };

static struct pmu power_core;

static int core_init(struct perf_event *event)
{
	if (event->attr.type != power_core.type)
		return -ENOENT;
	if (event->cpu < 0 || is_sampling_event(event) || event->attr.config != ENERGY_CORE)
		return -EINVAL;
	return 0;
}

/* In units of 2^-32 J, which is what the event's .scale says. */
static u64 core_now(const struct perf_event *event)
{
	u64 uj = uj_of(topology_sibling_cpumask(event->cpu));

	uj = mul_u64_u32_div(uj, core_energy_permille, 1000);
	return div_u64(uj << 14, 1000000) << 18;
}

static void core_read(struct perf_event *event)
{
	u64 now = core_now(event);

	local64_add(now - local64_xchg(&event->hw.prev_count, now), &event->count);
}

static void core_begin(struct perf_event *event, int flags)
{
	event->hw.state = 0;
	local64_set(&event->hw.prev_count, core_now(event));
}

static void core_end(struct perf_event *event, int flags)
{
	if (event->hw.state & PERF_HES_STOPPED)
		return;
	core_read(event);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static int core_add(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		core_begin(event, flags);
	return 0;
}

static ssize_t cpumask_show(struct device *device, struct device_attribute *attribute, char *text)
{
	int cpu, length = 0;

	for_each_online_cpu(cpu)
		if (cpu == cpumask_first_and(topology_sibling_cpumask(cpu), cpu_online_mask))
			length += sysfs_emit_at(text, length, "%s%d", length ? "," : "", cpu);
	return length + sysfs_emit_at(text, length, "\n");
}
static DEVICE_ATTR_RO(cpumask);
static struct attribute *mask_attributes[] = { &dev_attr_cpumask.attr, NULL };
static const struct attribute_group mask_group = { .attrs = mask_attributes };

PMU_FORMAT_ATTR(event, "config:0-7");
static struct attribute *format_attributes[] = { &format_attr_event.attr, NULL };
static const struct attribute_group format_group = { .name = "format", .attrs = format_attributes };

PMU_EVENT_ATTR_STRING(energy-core, core, "event=0x01");
PMU_EVENT_ATTR_STRING(energy-core.unit, core_unit, "Joules");
PMU_EVENT_ATTR_STRING(energy-core.scale, core_scale, "2.3283064365386962890625e-10"); /* 2^-32 */
static struct attribute *event_attributes[] = {
	&core.attr.attr, &core_unit.attr.attr, &core_scale.attr.attr, NULL,
};
static const struct attribute_group event_group = { .name = "events", .attrs = event_attributes };
static const struct attribute_group *groups[] = { &mask_group, &format_group, &event_group, NULL };

static struct pmu power_core = {
	.module = THIS_MODULE,
	.task_ctx_nr = perf_invalid_context,
	.attr_groups = groups,
	.capabilities = PERF_PMU_CAP_NO_EXCLUDE | PERF_PMU_CAP_NO_INTERRUPT,
	.event_init = core_init,
	.add = core_add,
	.del = core_end,
	.start = core_begin,
	.stop = core_end,
	.read = core_read,
};

int core_energy_start(void)
{
	return core_energy ? perf_pmu_register(&power_core, "power_core", -1) : 0;
}

void core_energy_stop(void)
{
	if (core_energy)
		perf_pmu_unregister(&power_core);
}
