// SPDX-License-Identifier: GPL-2.0
/*
 * The powercap zones of Intel RAPL: package-0 with two constraints, in it core and uncore. Their
 * counters wrap at a range that can be chosen, as those of hardware do at 65 to 262 kJ.
 */
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/powercap.h>

#include "vnode.h"

static ulong energy_range_uj = 262143328850UL; /* that of an i9-14900K */
module_param(energy_range_uj, ulong, 0644);
MODULE_PARM_DESC(energy_range_uj, "where the energy counters wrap, in µJ");

static uint energy_permille = 1000;
module_param(energy_permille, uint, 0644);
MODULE_PARM_DESC(energy_permille, "a lie: powercap counts so many thousandths of the energy");

enum domain { PACKAGE, CORE, UNCORE, ZONES };

static const char *const zone_names[ZONES] = { "package-0", "core", "uncore" };
static const char *const constraint_names[] = { "long_term", "short_term" };
static u64 limits_uw[] = { 125000000, 253000000 };
static const u64 windows_us[] = { 27983872, 2440 };

static struct powercap_control_type *control_type;
static struct powercap_zone *zones[ZONES];

static int get_energy_uj(struct powercap_zone *zone, u64 *uj)
{
	u64 total = 0;

	if (zone == zones[PACKAGE])
		total = package_uj();
	else if (zone == zones[CORE])
		total = core_uj();
	total = mul_u64_u32_div(total, energy_permille, 1000);
	div64_u64_rem(total, energy_range_uj ?: 1, uj);
	return 0;
}

static int get_max_energy_range_uj(struct powercap_zone *zone, u64 *uj)
{
	*uj = energy_range_uj;
	return 0;
}

static int get_enable(struct powercap_zone *zone, bool *enabled)
{
	*enabled = true;
	return 0;
}

static int set_enable(struct powercap_zone *zone, bool enabled)
{
	return 0;
}

static int release(struct powercap_zone *zone)
{
	return 0;
}

static const struct powercap_zone_ops zone_ops = {
	.get_energy_uj = get_energy_uj,
	.get_max_energy_range_uj = get_max_energy_range_uj,
	.get_enable = get_enable,
	.set_enable = set_enable,
	.release = release,
};

static int get_limit_uw(struct powercap_zone *zone, int id, u64 *uw)
{
	*uw = limits_uw[id];
	return 0;
}

static int set_limit_uw(struct powercap_zone *zone, int id, u64 uw)
{
	limits_uw[id] = uw;
	return 0;
}

static int get_window_us(struct powercap_zone *zone, int id, u64 *us)
{
	*us = windows_us[id];
	return 0;
}

static int set_window_us(struct powercap_zone *zone, int id, u64 us)
{
	return -EINVAL;
}

static const char *get_name(struct powercap_zone *zone, int id)
{
	return constraint_names[id];
}

static const struct powercap_zone_constraint_ops constraint_ops = {
	.get_power_limit_uw = get_limit_uw,
	.set_power_limit_uw = set_limit_uw,
	.get_time_window_us = get_window_us,
	.set_time_window_us = set_window_us,
	.get_name = get_name,
};

int powercap_start(void)
{
	int i;

	control_type = powercap_register_control_type(NULL, "intel-rapl", NULL);
	if (IS_ERR(control_type))
		return PTR_ERR(control_type);
	for (i = 0; i < ZONES; i++) {
		zones[i] = powercap_register_zone(NULL, control_type, zone_names[i],
						  i ? zones[PACKAGE] : NULL, &zone_ops,
						  i ? 0 : ARRAY_SIZE(limits_uw), &constraint_ops);
		if (IS_ERR(zones[i])) {
			int error = PTR_ERR(zones[i]);

			zones[i] = NULL;
			powercap_stop();
			return error;
		}
	}
	return 0;
}

void powercap_stop(void)
{
	int i;

	for (i = ZONES - 1; i >= 0; i--)
		if (zones[i])
			powercap_unregister_zone(control_type, zones[i]);
	powercap_unregister_control_type(control_type);
}
