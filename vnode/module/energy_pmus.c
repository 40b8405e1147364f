// SPDX-License-Identifier: GPL-2.0
/*
 * perf's PMUs of energy, as arch/x86/events/rapl.c presents them: `power` counts that of the package
 * and of its cores, `power_core`, as on AMD, that of each core. The latter may be read on any CPU of
 * the core; the cpumask has the first.
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

/* Events of `power`, and the one of `power_core`. */
enum { ENERGY_CORES = 1, ENERGY_PKG = 2 };
enum { ENERGY_CORE = 1 };

static struct pmu power, power_core;

static int energy_init(struct perf_event *event)
{
	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (event->cpu < 0 || is_sampling_event(event))
		return -EINVAL;
	if (event->pmu == &power_core)
		return event->attr.config == ENERGY_CORE ? 0 : -EINVAL;
	if (event->attr.config != ENERGY_CORES && event->attr.config != ENERGY_PKG)
		return -EINVAL;
	event->cpu = 0;
	return 0;
}

static u64 energy_uj(const struct perf_event *event)
{
	u64 uj;

	if (event->pmu == &power)
		return event->attr.config == ENERGY_CORES ? core_uj() : package_uj();
	uj = uj_of(topology_sibling_cpumask(event->cpu));
	return mul_u64_u32_div(uj, core_energy_permille, 1000);
}

/* In units of 2^-32 J, which is what the events' .scale says. */
static u64 energy_now(const struct perf_event *event)
{
	return div_u64(energy_uj(event) << 14, 1000000) << 18;
}

static void energy_read(struct perf_event *event)
{
	u64 now = energy_now(event);

	local64_add(now - local64_xchg(&event->hw.prev_count, now), &event->count);
}

static void energy_begin(struct perf_event *event, int flags)
{
	event->hw.state = 0;
	local64_set(&event->hw.prev_count, energy_now(event));
}

static void energy_end(struct perf_event *event, int flags)
{
	if (event->hw.state & PERF_HES_STOPPED)
		return;
	energy_read(event);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static int energy_add(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		energy_begin(event, flags);
	return 0;
}

static ssize_t cpumask_show(struct device *device, struct device_attribute *attribute, char *text)
{
	bool of_cores = dev_get_drvdata(device) == &power_core;
	int cpu, length = 0;

	for_each_online_cpu(cpu) {
		const struct cpumask *cpus = of_cores ? topology_sibling_cpumask(cpu) : cpu_online_mask;

		if (cpu == cpumask_first_and(cpus, cpu_online_mask))
			length += sysfs_emit_at(text, length, "%s%d", length ? "," : "", cpu);
	}
	return length + sysfs_emit_at(text, length, "\n");
}
static DEVICE_ATTR_RO(cpumask);
static struct attribute *mask_attributes[] = { &dev_attr_cpumask.attr, NULL };
static const struct attribute_group mask_group = { .attrs = mask_attributes };

PMU_FORMAT_ATTR(event, "config:0-7");
static struct attribute *format_attributes[] = { &format_attr_event.attr, NULL };
static const struct attribute_group format_group = { .name = "format", .attrs = format_attributes };

#define JOULES_PER_COUNT "2.3283064365386962890625e-10" /* 2^-32 */
PMU_EVENT_ATTR_STRING(energy-cores, cores, "event=0x01");
PMU_EVENT_ATTR_STRING(energy-cores.unit, cores_unit, "Joules");
PMU_EVENT_ATTR_STRING(energy-cores.scale, cores_scale, JOULES_PER_COUNT);
PMU_EVENT_ATTR_STRING(energy-pkg, pkg, "event=0x02");
PMU_EVENT_ATTR_STRING(energy-pkg.unit, pkg_unit, "Joules");
PMU_EVENT_ATTR_STRING(energy-pkg.scale, pkg_scale, JOULES_PER_COUNT);
static struct attribute *power_attributes[] = {
	&cores.attr.attr, &cores_unit.attr.attr, &cores_scale.attr.attr,
	&pkg.attr.attr,	  &pkg_unit.attr.attr,	 &pkg_scale.attr.attr,
	NULL,
};
static const struct attribute_group power_events = { .name = "events", .attrs = power_attributes };
static const struct attribute_group *power_groups[] = {
	&mask_group, &format_group, &power_events, NULL,
};

PMU_EVENT_ATTR_STRING(energy-core, core, "event=0x01");
PMU_EVENT_ATTR_STRING(energy-core.unit, core_unit, "Joules");
PMU_EVENT_ATTR_STRING(energy-core.scale, core_scale, JOULES_PER_COUNT);
static struct attribute *core_attributes[] = {
	&core.attr.attr, &core_unit.attr.attr, &core_scale.attr.attr, NULL,
};
static const struct attribute_group core_events = { .name = "events", .attrs = core_attributes };
static const struct attribute_group *core_groups[] = {
	&mask_group, &format_group, &core_events, NULL,
};

#define ENERGY_PMU(groups)                                                                         \
	{                                                                                          \
		.module = THIS_MODULE, .task_ctx_nr = perf_invalid_context, .attr_groups = groups, \
		.capabilities = PERF_PMU_CAP_NO_EXCLUDE | PERF_PMU_CAP_NO_INTERRUPT,               \
		.event_init = energy_init, .add = energy_add, .del = energy_end,                   \
		.start = energy_begin, .stop = energy_end, .read = energy_read,                    \
	}

static struct pmu power = ENERGY_PMU(power_groups);
static struct pmu power_core = ENERGY_PMU(core_groups);

int energy_pmus_start(void)
{
	int error = perf_pmu_register(&power, "power", -1);

	if (error || !core_energy)
		return error;
	error = perf_pmu_register(&power_core, "power_core", -1);
	if (error)
		perf_pmu_unregister(&power);
	return error;
}

void energy_pmus_stop(void)
{
	if (core_energy)
		perf_pmu_unregister(&power_core);
	perf_pmu_unregister(&power);
}
