# The system packages of the tests on a cluster, without the daemons that they bring. Sourced by
# setup.sh.
# shellcheck shell=bash

# slurm_packages: the tests start daemons of their own. Those that came with packages just now are
# stopped, and not started at the next boot; an administrator's are left alone.
slurm_packages() {
    local services=() service
    for service in munge slurmctld slurmd; do
        command -v "${service/%munge/munged}" >/dev/null || services+=("$service")
    done
    system_packages python build run slurm
    if [ ${#services[@]} -gt 0 ] && command -v systemctl >/dev/null; then
        logged "${as_root[@]}" systemctl disable --now "${services[@]}" || true
    fi
}
