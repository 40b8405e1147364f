// SPDX-License-Identifier: GPL-2.0
/*
 * The board's meter: a power that is renewed at each interval, as an INA226 behind hwmon tells it. The
 * board takes in the package, the losses of its converters, and what it has beside that. A model.
 */
#include <linux/hwmon.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/workqueue.h>

#include "vnode.h"

static bool board_meter;
module_param(board_meter, bool, 0444);
MODULE_PARM_DESC(board_meter, "the board has a meter of its power");
static uint board_permille = 1000;
module_param(board_permille, uint, 0644);
MODULE_PARM_DESC(board_permille, "a lie: the meter tells so many thousandths of the power");
static bool board_stands_still;
module_param(board_stands_still, bool, 0644);
MODULE_PARM_DESC(board_stands_still, "a lie: the meter tells the same power for ever");

#define INTERVAL_MS 100
#define BESIDE_UW 3000000 /* fans, memory, disk */
#define LOSSES_PERMILLE 1120

static u64 last_ns, last_uj;
static long power_uw = BESIDE_UW;

static void renew(struct work_struct *work);
static DECLARE_DELAYED_WORK(renewal, renew);

static void renew(struct work_struct *work)
{
	u64 now_ns = ktime_get_ns(), now_uj = package_uj();
	/* µJ * 1e9 / ns = µW; a second of 10 kW stays below 64 bits. */
	u64 package_uw = div64_u64((now_uj - last_uj) * NSEC_PER_SEC, now_ns - last_ns ?: 1);

	if (!board_stands_still)
		WRITE_ONCE(power_uw, BESIDE_UW + div_u64(package_uw * LOSSES_PERMILLE, 1000));
	last_ns = now_ns;
	last_uj = now_uj;
	schedule_delayed_work(&renewal, msecs_to_jiffies(INTERVAL_MS));
}

static umode_t is_visible(const void *data, enum hwmon_sensor_types type, u32 attribute, int channel)
{
	return 0444;
}

static int read(struct device *device, enum hwmon_sensor_types type, u32 attribute, int channel,
		long *value)
{
	*value = type == hwmon_chip ? INTERVAL_MS
				    : mult_frac(READ_ONCE(power_uw), (long)board_permille, 1000L);
	return 0;
}

static const struct hwmon_ops ops = { .is_visible = is_visible, .read = read };
static const struct hwmon_channel_info whole = {
	.type = hwmon_chip,
	.config = (u32[]){ HWMON_C_UPDATE_INTERVAL, 0 },
};
static const struct hwmon_channel_info power = {
	.type = hwmon_power,
	.config = (u32[]){ HWMON_P_INPUT, 0 },
};
static const struct hwmon_channel_info *channels[] = { &whole, &power, NULL };
static const struct hwmon_chip_info chip = { .ops = &ops, .info = (void *)channels };

static struct platform_device *platform;
static struct device *monitor;

int board_start(void)
{
	if (!board_meter)
		return 0;
	platform = platform_device_register_simple("ina226", 0, NULL, 0);
	if (IS_ERR(platform))
		return PTR_ERR(platform);
	monitor = hwmon_device_register_with_info(&platform->dev, "ina226", NULL, &chip, NULL);
	if (IS_ERR(monitor)) {
		platform_device_unregister(platform);
		return PTR_ERR(monitor);
	}
	last_ns = ktime_get_ns();
	last_uj = package_uj();
	schedule_delayed_work(&renewal, msecs_to_jiffies(INTERVAL_MS));
	return 0;
}

void board_stop(void)
{
	if (!board_meter)
		return;
	cancel_delayed_work_sync(&renewal);
	hwmon_device_unregister(monitor);
	platform_device_unregister(platform);
}
