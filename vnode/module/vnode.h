/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of the virtual node's module know of each other. */
#ifndef PINSTUDY_VNODE_H
#define PINSTUDY_VNODE_H

#include <linux/cpumask.h>
#include <linux/types.h>

enum kind { KIND_P, KIND_E, KIND_LPE, KINDS };

/* kinds.c: which CPUs are of which kind, fixed when the module is loaded. */
int kinds_start(void);
const struct cpumask *kind_cpus(enum kind kind);
enum kind kind_of(int cpu);
bool is_hybrid(void);

/* main.c: whether governors of the kernel set the clocks, and schedulers can be switched. */
extern bool has_scheduling;

/* frequency.c: the modelled clocks, in kHz. */
int frequency_start(void);
void frequency_stop(void);
unsigned int current_khz(int cpu);
unsigned int highest_khz(int cpu);

/* energy.c: the modelled energy since the module was loaded, in µJ. */
void energy_start(void);
u64 package_uj(void);
u64 core_uj(void);
u64 uj_of(const struct cpumask *cpus);

int powercap_start(void);
void powercap_stop(void);
int energy_pmus_start(void);
void energy_pmus_stop(void);
int core_pmus_start(void);
void core_pmus_stop(void);
int sensors_start(void);
void sensors_stop(void);
int board_start(void);
void board_stop(void);
int scheduler_start(void);
void scheduler_stop(void);

#endif
