// SPDX-License-Identifier: GPL-2.0
/* The package's temperature, as coretemp shows it, and the throttle counters of every CPU. */
#include <linux/cpu.h>
#include <linux/hwmon.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>

#include "vnode.h"

static int package_temperature_mc = 45000;
module_param(package_temperature_mc, int, 0644);
MODULE_PARM_DESC(package_temperature_mc, "the idle package's temperature in m°C");

#define MC_PER_W 100
#define SHORTEST_NS 100000000 /* a shorter time since the last look tells no power */

/* Warmer than that by the power of the cores since the last look. */
static int warmer_mc(void)
{
	static DEFINE_MUTEX(lock);
	static u64 last_ns, last_uj;
	static int warmer;
	u64 now_ns, now_uj;

	mutex_lock(&lock);
	now_ns = ktime_get_ns();
	if (now_ns - last_ns >= SHORTEST_NS) {
		now_uj = core_uj();
		warmer = div64_u64((now_uj - last_uj) * 1000 * MC_PER_W, now_ns - last_ns);
		last_ns = now_ns;
		last_uj = now_uj;
	}
	mutex_unlock(&lock);
	return warmer;
}

static unsigned int throttle_count;
module_param(throttle_count, uint, 0644);
MODULE_PARM_DESC(throttle_count, "how often each core and the package have been throttled");

static umode_t is_visible(const void *data, enum hwmon_sensor_types type, u32 attribute, int channel)
{
	return 0444;
}

static int read(struct device *device, enum hwmon_sensor_types type, u32 attribute, int channel,
		long *value)
{
	*value = attribute == hwmon_temp_input ? package_temperature_mc + warmer_mc() : 100000;
	return 0;
}

static int read_string(struct device *device, enum hwmon_sensor_types type, u32 attribute,
		       int channel, const char **text)
{
	*text = "Package id 0";
	return 0;
}

static const struct hwmon_ops ops = {
	.is_visible = is_visible,
	.read = read,
	.read_string = read_string,
};
static const struct hwmon_channel_info temperature = {
	.type = hwmon_temp,
	.config = (u32[]){ HWMON_T_INPUT | HWMON_T_LABEL | HWMON_T_MAX | HWMON_T_CRIT, 0 },
};
static const struct hwmon_channel_info *channels[] = { &temperature, NULL };
static const struct hwmon_chip_info chip = { .ops = &ops, .info = (void *)channels };

static ssize_t count_show(struct device *device, struct device_attribute *attribute, char *text)
{
	return sysfs_emit(text, "%u\n", throttle_count);
}
static struct device_attribute core_count = __ATTR(core_throttle_count, 0444, count_show, NULL);
static struct device_attribute package_count =
	__ATTR(package_throttle_count, 0444, count_show, NULL);
static struct attribute *throttle_attributes[] = { &core_count.attr, &package_count.attr, NULL };
static const struct attribute_group throttle_group = {
	.name = "thermal_throttle",
	.attrs = throttle_attributes,
};

static struct platform_device *platform;
static struct device *monitor;

static void remove_throttle_counters(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		if (get_cpu_device(cpu))
			sysfs_remove_group(&get_cpu_device(cpu)->kobj, &throttle_group);
}

static int add_throttle_counters(void)
{
	int cpu, error;

	for_each_possible_cpu(cpu) {
		if (!get_cpu_device(cpu))
			continue;
		error = sysfs_create_group(&get_cpu_device(cpu)->kobj, &throttle_group);
		if (error)
			return error;
	}
	return 0;
}

int sensors_start(void)
{
	int error;

	platform = platform_device_register_simple("coretemp", 0, NULL, 0);
	if (IS_ERR(platform))
		return PTR_ERR(platform);
	monitor = hwmon_device_register_with_info(&platform->dev, "coretemp", NULL, &chip, NULL);
	if (IS_ERR(monitor)) {
		platform_device_unregister(platform);
		return PTR_ERR(monitor);
	}
	error = add_throttle_counters();
	if (error)
		sensors_stop();
	return error;
}

void sensors_stop(void)
{
	remove_throttle_counters();
	hwmon_device_unregister(monitor);
	platform_device_unregister(platform);
}
