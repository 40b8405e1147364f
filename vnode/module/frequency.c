// SPDX-License-Identifier: GPL-2.0
/*
 * cpufreq in the look and with the rules of intel_pstate in active mode with HWP
 * (drivers/cpufreq/intel_pstate.c): governors performance and powersave, the EPP forced to 0 under
 * performance and brought back afterwards, base_frequency, no_turbo. The clock is a model: the
 * limit under performance, under powersave as far from it as the EPP says.
 *
 * With the parameter `scheduling` it is intel_pstate in passive mode (intel_cpufreq): the kernel's
 * own governors, schedutil among them, choose the clock.
 */
#include <linux/cpu.h>
#include <linux/cpufreq.h>
#include <linux/module.h>
#include <linux/version.h>

#include "vnode.h"

#define LOWEST_KHZ 800000

static const unsigned int base_khz[KINDS] = { 3200000, 2400000, 1600000 };
static unsigned int max_khz[KINDS] = { 5600000, 4400000, 2500000 };
module_param_array(max_khz, uint, NULL, 0444);
MODULE_PARM_DESC(max_khz, "highest clock in kHz: of P, E, LP-E");

static bool ignored_policy;
module_param(ignored_policy, bool, 0644);
MODULE_PARM_DESC(ignored_policy, "a lie: governors and limits are accepted, and change no clock");
static uint shown_permille = 1000;
module_param(shown_permille, uint, 0644);
MODULE_PARM_DESC(shown_permille, "a lie: so many thousandths of the clock are shown in files");

static const char *const epp_names[] = { "default", "performance", "balance_performance",
					 "balance_power", "power", NULL };
static const u8 epp_values[] = { 128, 0, 128, 192, 255 };
#define EPP_DEFAULT 128
#define EPP_LOWEST 255

struct clock {
	unsigned int limit_khz, policy, epp_policy, wanted_khz;
	u8 epp, epp_powersave;
};

static struct clock clocks[NR_CPUS];
static bool no_turbo;

unsigned int highest_khz(int cpu)
{
	return max_khz[kind_of(cpu)];
}

unsigned int current_khz(int cpu)
{
	const struct clock *clock = &clocks[cpu];
	unsigned int limit = clock->limit_khz ?: highest_khz(cpu);

	if (has_scheduling)
		limit = clock->wanted_khz ?: limit;
	if (no_turbo)
		limit = min(limit, base_khz[kind_of(cpu)]);
	if (has_scheduling || clock->policy == CPUFREQ_POLICY_PERFORMANCE || limit < LOWEST_KHZ)
		return limit;
	return limit - (limit - LOWEST_KHZ) / EPP_LOWEST * clock->epp;
}

static unsigned int get(unsigned int cpu)
{
	return div_u64((u64)current_khz(cpu) * shown_permille, 1000);
}

static int init(struct cpufreq_policy *policy)
{
	policy->cpuinfo.min_freq = LOWEST_KHZ;
	policy->cpuinfo.max_freq = highest_khz(policy->cpu);
	policy->min = policy->cpuinfo.min_freq;
	policy->max = policy->cpuinfo.max_freq;
	policy->cpuinfo.transition_latency = 20000;
	if (has_scheduling)
		policy->cur = highest_khz(policy->cpu);
	else
		policy->policy = CPUFREQ_POLICY_POWERSAVE;
	clocks[policy->cpu] = (struct clock){
		.limit_khz = policy->max,
		.policy = CPUFREQ_POLICY_POWERSAVE,
		.epp_policy = CPUFREQ_POLICY_POWERSAVE,
		.epp = EPP_DEFAULT,
	};
	return 0;
}

/* As intel_pstate_hwp_set(): a preference that the user wrote meanwhile (not 0) is kept. */
static int setpolicy(struct cpufreq_policy *policy)
{
	struct clock *clock = &clocks[policy->cpu];

	if (ignored_policy)
		return 0;
	clock->limit_khz = policy->max;
	clock->policy = policy->policy;
	if (clock->epp_policy == policy->policy)
		return 0;
	clock->epp_policy = policy->policy;
	if (policy->policy == CPUFREQ_POLICY_PERFORMANCE) {
		clock->epp_powersave = clock->epp;
		clock->epp = 0;
	} else if (!clock->epp) {
		clock->epp = clock->epp_powersave;
	}
	return 0;
}

/* Called instead of setpolicy() where the kernel's governors choose. */
static int target(struct cpufreq_policy *policy, unsigned int khz, unsigned int relation)
{
	struct cpufreq_freqs change = {
		.old = policy->cur,
		.new = clamp(khz, policy->min, policy->max),
	};

	if (ignored_policy)
		return 0;
	cpufreq_freq_transition_begin(policy, &change);
	clocks[policy->cpu].wanted_khz = change.new;
	cpufreq_freq_transition_end(policy, &change, false);
	return 0;
}

static int verify(struct cpufreq_policy_data *policy)
{
	cpufreq_verify_within_cpu_limits(policy);
	return 0;
}

static ssize_t show_base_frequency(struct cpufreq_policy *policy, char *text)
{
	return sysfs_emit(text, "%u\n", base_khz[kind_of(policy->cpu)]);
}
cpufreq_freq_attr_ro(base_frequency);

static ssize_t show_energy_performance_preference(struct cpufreq_policy *policy, char *text)
{
	const u8 epp = clocks[policy->cpu].epp;
	int i;

	for (i = 1; epp_names[i]; i++)
		if (epp_values[i] == epp)
			return sysfs_emit(text, "%s\n", epp_names[i]);
	return sysfs_emit(text, "%u\n", epp);
}

static ssize_t store_energy_performance_preference(struct cpufreq_policy *policy, const char *text,
						   size_t length)
{
	struct clock *clock = &clocks[policy->cpu];
	int index = sysfs_match_string(epp_names, text);
	u8 epp;

	if (index >= 0)
		epp = epp_values[index];
	else if (kstrtou8(text, 10, &epp))
		return -EINVAL;
	if (epp && clock->policy == CPUFREQ_POLICY_PERFORMANCE)
		return -EBUSY;
	clock->epp = epp;
	return length;
}
cpufreq_freq_attr_rw(energy_performance_preference);

static ssize_t show_energy_performance_available_preferences(struct cpufreq_policy *policy,
							     char *text)
{
	return sysfs_emit(text, "default performance balance_performance balance_power power \n");
}
cpufreq_freq_attr_ro(energy_performance_available_preferences);

static struct freq_attr *attributes[] = {
	&base_frequency,
	&energy_performance_preference,
	&energy_performance_available_preferences,
	NULL,
};

static struct cpufreq_driver driver = {
	.name = "intel_pstate",
	.flags = CPUFREQ_CONST_LOOPS,
	.init = init,
	.verify = verify,
	.setpolicy = setpolicy,
	.get = get,
	.attr = attributes,
};

static struct cpufreq_driver passive_driver = {
	.name = "intel_cpufreq",
	.flags = CPUFREQ_CONST_LOOPS,
	.init = init,
	.verify = verify,
	.target = target,
	.get = get,
	.attr = attributes,
};

static ssize_t status_show(struct kobject *object, struct kobj_attribute *attribute, char *text)
{
	return sysfs_emit(text, "%s\n", has_scheduling ? "passive" : "active");
}
static struct kobj_attribute status_attribute = __ATTR_RO(status);

static ssize_t no_turbo_show(struct kobject *object, struct kobj_attribute *attribute, char *text)
{
	return sysfs_emit(text, "%d\n", no_turbo);
}

static ssize_t no_turbo_store(struct kobject *object, struct kobj_attribute *attribute,
			      const char *text, size_t length)
{
	return kstrtobool(text, &no_turbo) ?: length;
}
static struct kobj_attribute no_turbo_attribute = __ATTR_RW(no_turbo);

static struct attribute *global_attributes[] = {
	&status_attribute.attr,
	&no_turbo_attribute.attr,
	NULL,
};
static const struct attribute_group global_group = { .attrs = global_attributes };
static struct kobject *global;

static struct kobject *cpu_subsystem(void)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
	return &cpu_subsys.dev_root->kobj;
#else
	/* The root is never freed, so that its reference need not be kept. */
	struct device *root = bus_get_dev_root(&cpu_subsys);

	put_device(root);
	return &root->kobj;
#endif
}

int frequency_start(void)
{
	int error = cpufreq_register_driver(has_scheduling ? &passive_driver : &driver);

	if (error)
		return error;
	global = kobject_create_and_add("intel_pstate", cpu_subsystem());
	error = global ? sysfs_create_group(global, &global_group) : -ENOMEM;
	if (error)
		frequency_stop();
	return error;
}

void frequency_stop(void)
{
	kobject_put(global);
	cpufreq_unregister_driver(has_scheduling ? &passive_driver : &driver);
}
