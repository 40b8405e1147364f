// SPDX-License-Identifier: GPL-2.0
/*
 * The core PMUs: cpu_core, cpu_atom and cpu_lowpower of a hybrid node, each with its CPUs, or the
 * one PMU `cpu` of others. They count time at the modelled clock; what is not cycles is a fixed
 * share of them. The events' encodings are Intel's architectural ones. They can lie, as broken PMUs
 * and kernels do: `pinstudy prove` has to find it.
 */
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/version.h>

#include "vnode.h"

#define TSC_KHZ 3187000

enum { CYCLES = 0x003c, REF_CYCLES = 0x013c, INSTRUCTIONS = 0x00c0, BRANCHES = 0x00c4,
       BRANCH_MISSES = 0x00c5, CACHE_REFERENCES = 0x4f2e, CACHE_MISSES = 0x412e };

static uint counters = 8;
module_param(counters, uint, 0644);
MODULE_PARM_DESC(counters, "events that a CPU counts at once");
static uint cycles_permille = 1000;
module_param(cycles_permille, uint, 0644);
MODULE_PARM_DESC(cycles_permille, "a lie: so many thousandths of the cycles are counted");
static bool swapped_kinds;
module_param(swapped_kinds, bool, 0644);
MODULE_PARM_DESC(swapped_kinds, "a lie: P- and E-cores are counted by each other's PMU");
static bool lost_after_migration;
module_param(lost_after_migration, bool, 0644);
MODULE_PARM_DESC(lost_after_migration, "a lie: nothing is counted once a task has changed its CPU");
static uint counter_bits = 64;
module_param(counter_bits, uint, 0644);
MODULE_PARM_DESC(counter_bits, "a lie of less than 64: counts wrap, and nobody notices");

static DEFINE_PER_CPU(unsigned int, used);

struct core_pmu {
	struct pmu pmu;
	const char *name;
	enum kind kind;
	bool registered;
};

static const u16 generic[] = {
	[PERF_COUNT_HW_CPU_CYCLES] = CYCLES,
	[PERF_COUNT_HW_INSTRUCTIONS] = INSTRUCTIONS,
	[PERF_COUNT_HW_CACHE_REFERENCES] = CACHE_REFERENCES,
	[PERF_COUNT_HW_CACHE_MISSES] = CACHE_MISSES,
	[PERF_COUNT_HW_BRANCH_INSTRUCTIONS] = BRANCHES,
	[PERF_COUNT_HW_BRANCH_MISSES] = BRANCH_MISSES,
	[PERF_COUNT_HW_BUS_CYCLES] = REF_CYCLES,
	[PERF_COUNT_HW_REF_CPU_CYCLES] = REF_CYCLES,
};

static enum kind kind_of_pmu(const struct pmu *pmu)
{
	return container_of(pmu, struct core_pmu, pmu)->kind;
}

static const struct cpumask *cpus_of(const struct pmu *pmu)
{
	return kind_cpus(kind_of_pmu(pmu));
}

/* Whether a PMU counts on a CPU; its file `cpus` stays honest. */
static bool counts_on(const struct pmu *pmu, int cpu)
{
	enum kind kind = kind_of_pmu(pmu);

	if (swapped_kinds && kind != KIND_LPE)
		kind = kind == KIND_P ? KIND_E : KIND_P;
	return cpumask_test_cpu(cpu, kind_cpus(kind));
}

static u64 counted(const struct perf_event *event, u64 ns)
{
	u64 cycles = div_u64(ns * (current_khz(smp_processor_id()) / 1000), 1000);

	switch (event->hw.config_base) {
	case CYCLES:
		return div_u64(cycles * cycles_permille, 1000);
	case INSTRUCTIONS:
		return cycles * (kind_of_pmu(event->pmu) == KIND_P ? 3 : 2);
	case REF_CYCLES:
		return div_u64(ns * (TSC_KHZ / 1000), 1000);
	case BRANCHES:
		return div_u64(cycles, 5);
	case BRANCH_MISSES:
		return div_u64(cycles, 500);
	case CACHE_REFERENCES:
		return div_u64(cycles, 100);
	case CACHE_MISSES:
		return div_u64(cycles, 1000);
	default:
		return 0;
	}
}

static int core_init(struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	if (attr->type == PERF_TYPE_HARDWARE) {
		if (attr->config >= ARRAY_SIZE(generic) || !generic[attr->config])
			return -ENOENT;
		event->hw.config_base = generic[attr->config];
	} else if (attr->type == event->pmu->type) {
		event->hw.config_base = attr->config & 0xffff;
	} else {
		return -ENOENT;
	}
	if (is_sampling_event(event))
		return -EOPNOTSUPP;
	if (event->cpu >= 0 && !cpumask_test_cpu(event->cpu, cpus_of(event->pmu)))
		return -ENOENT;
	if (event->hw.target)
		event->hw.last_tag = event->hw.target->se.nr_migrations;
	return 0;
}

static bool is_lost(const struct perf_event *event)
{
	const struct task_struct *task = event->hw.target;

	return lost_after_migration && task && task->se.nr_migrations != event->hw.last_tag;
}

static u64 kept_bits(u64 count)
{
	return counter_bits < 64 ? count & ((1ULL << counter_bits) - 1) : count;
}

/*
 * The clock by which perf says how long an event was counting. Perf reads it before it starts a
 * counter, and an emulated CPU may stand still for milliseconds in between; a real one does not.
 */
static u64 time_of(const struct perf_event *event)
{
	return event->ctx->time;
}

static void core_read(struct perf_event *event)
{
	u64 now = time_of(event);
	u64 before = local64_xchg(&event->hw.prev_count, now);

	if (now <= before || is_lost(event))
		return;
	local64_add(counted(event, now - before), &event->count);
	local64_set(&event->count, kept_bits(local64_read(&event->count)));
}

static void core_begin(struct perf_event *event, int flags)
{
	event->hw.state = 0;
	local64_set(&event->hw.prev_count, time_of(event));
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
	if (!counts_on(event->pmu, smp_processor_id()))
		return -ENODEV;
	if (this_cpu_read(used) >= counters)
		return -EAGAIN;
	this_cpu_inc(used);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		core_begin(event, flags);
	return 0;
}

static void core_del(struct perf_event *event, int flags)
{
	core_end(event, flags);
	this_cpu_dec(used);
}

/* Without this, an event of a task would fail on the CPUs of another kind instead of waiting. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
static int core_counts_here(struct perf_event *event)
{
	return counts_on(event->pmu, smp_processor_id());
}
#define FILTER .filter_match = core_counts_here
#else
static bool core_is_elsewhere(struct pmu *pmu, int cpu)
{
	return !counts_on(pmu, cpu);
}
#define FILTER .filter = core_is_elsewhere
#endif

static ssize_t cpus_show(struct device *device, struct device_attribute *attribute, char *text)
{
	struct cpumask online;

	cpumask_and(&online, cpus_of(dev_get_drvdata(device)), cpu_online_mask);
	return cpumap_print_to_pagebuf(true, text, &online);
}
static DEVICE_ATTR_RO(cpus);
static struct attribute *cpus_attributes[] = { &dev_attr_cpus.attr, NULL };
static const struct attribute_group cpus_group = { .attrs = cpus_attributes };

PMU_FORMAT_ATTR(event, "config:0-7");
PMU_FORMAT_ATTR(umask, "config:8-15");
static struct attribute *format_attributes[] = {
	&format_attr_event.attr,
	&format_attr_umask.attr,
	NULL,
};
static const struct attribute_group format_group = { .name = "format", .attrs = format_attributes };

PMU_EVENT_ATTR_STRING(cpu-cycles, cycles, "event=0x3c");
PMU_EVENT_ATTR_STRING(ref-cycles, ref_cycles, "event=0x3c,umask=0x01");
PMU_EVENT_ATTR_STRING(instructions, instructions, "event=0xc0");
PMU_EVENT_ATTR_STRING(branches, branches, "event=0xc4");
PMU_EVENT_ATTR_STRING(branch-misses, branch_misses, "event=0xc5");
PMU_EVENT_ATTR_STRING(cache-references, cache_references, "event=0x2e,umask=0x4f");
PMU_EVENT_ATTR_STRING(cache-misses, cache_misses, "event=0x2e,umask=0x41");
static struct attribute *event_attributes[] = {
	&cycles.attr.attr,	  &ref_cycles.attr.attr,       &instructions.attr.attr,
	&branches.attr.attr,	  &branch_misses.attr.attr,    &cache_references.attr.attr,
	&cache_misses.attr.attr, NULL,
};
static const struct attribute_group event_group = { .name = "events", .attrs = event_attributes };
static const struct attribute_group *hybrid_groups[] = { &cpus_group, &format_group, &event_group,
							 NULL };
static const struct attribute_group *plain_groups[] = { &format_group, &event_group, NULL };

static struct core_pmu pmus[] = {
	{ .name = "cpu_core", .kind = KIND_P },
	{ .name = "cpu_atom", .kind = KIND_E },
	{ .name = "cpu_lowpower", .kind = KIND_LPE },
};

static int start_one(struct core_pmu *core)
{
	const bool hybrid = is_hybrid();
	int error;

	core->pmu = (struct pmu){
		.module = THIS_MODULE,
		.task_ctx_nr = perf_hw_context,
		.attr_groups = hybrid ? hybrid_groups : plain_groups,
		.capabilities = PERF_PMU_CAP_NO_INTERRUPT | PERF_PMU_CAP_EXTENDED_HW_TYPE,
		.event_init = core_init,
		.add = core_add,
		.del = core_del,
		.start = core_begin,
		.stop = core_end,
		.read = core_read,
		FILTER,
	};
#ifdef PERF_PMU_CAP_HETEROGENEOUS_CPUS /* until Linux 6.5 */
	if (hybrid)
		core->pmu.capabilities |= PERF_PMU_CAP_HETEROGENEOUS_CPUS;
#endif
	error = perf_pmu_register(&core->pmu, hybrid ? core->name : "cpu",
				  hybrid && core->kind != KIND_P ? -1 : PERF_TYPE_RAW);
	core->registered = !error;
	return error;
}

int core_pmus_start(void)
{
	int i, error;

	for (i = 0; i < ARRAY_SIZE(pmus); i++) {
		if (cpumask_empty(kind_cpus(pmus[i].kind)))
			continue;
		error = start_one(&pmus[i]);
		if (error) {
			core_pmus_stop();
			return error;
		}
	}
	return 0;
}

void core_pmus_stop(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(pmus); i++)
		if (pmus[i].registered)
			perf_pmu_unregister(&pmus[i].pmu);
}
