// SPDX-License-Identifier: GPL-2.0
/* perf's PMU `power`, as arch/x86/events/rapl.c presents it: energy-pkg and energy-cores in Joules. */
#include <linux/module.h>
#include <linux/perf_event.h>

#include "vnode.h"

enum { ENERGY_CORES = 1, ENERGY_PKG = 2 };

static struct pmu power;

static int power_init(struct perf_event *event)
{
	if (event->attr.type != power.type)
		return -ENOENT;
	if (event->cpu < 0 || is_sampling_event(event))
		return -EINVAL;
	if (event->attr.config != ENERGY_CORES && event->attr.config != ENERGY_PKG)
		return -EINVAL;
	event->cpu = 0;
	return 0;
}

/* In units of 2^-32 J, which is what the events' .scale says. */
static u64 power_now(const struct perf_event *event)
{
	u64 uj = event->attr.config == ENERGY_CORES ? core_uj() : package_uj();

	return div_u64(uj << 14, 1000000) << 18;
}

static void power_read(struct perf_event *event)
{
	u64 now = power_now(event);

	local64_add(now - local64_xchg(&event->hw.prev_count, now), &event->count);
}

static void power_begin(struct perf_event *event, int flags)
{
	event->hw.state = 0;
	local64_set(&event->hw.prev_count, power_now(event));
}

static void power_end(struct perf_event *event, int flags)
{
	if (event->hw.state & PERF_HES_STOPPED)
		return;
	power_read(event);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static int power_add(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		power_begin(event, flags);
	return 0;
}

static ssize_t cpumask_show(struct device *device, struct device_attribute *attribute, char *text)
{
	return sysfs_emit(text, "0\n");
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
static struct attribute *event_attributes[] = {
	&cores.attr.attr, &cores_unit.attr.attr, &cores_scale.attr.attr,
	&pkg.attr.attr,	  &pkg_unit.attr.attr,	 &pkg_scale.attr.attr,
	NULL,
};
static const struct attribute_group event_group = { .name = "events", .attrs = event_attributes };
static const struct attribute_group *groups[] = { &mask_group, &format_group, &event_group, NULL };

static struct pmu power = {
	.module = THIS_MODULE,
	.task_ctx_nr = perf_invalid_context,
	.attr_groups = groups,
	.capabilities = PERF_PMU_CAP_NO_EXCLUDE | PERF_PMU_CAP_NO_INTERRUPT,
	.event_init = power_init,
	.add = power_add,
	.del = power_end,
	.start = power_begin,
	.stop = power_end,
	.read = power_read,
};

int power_pmu_start(void)
{
	return perf_pmu_register(&power, "power", -1);
}

void power_pmu_stop(void)
{
	perf_pmu_unregister(&power);
}
