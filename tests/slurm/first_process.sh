# The first process of a throw-away cluster: makes its network and nodes, then holds all of it.
#
# usage: first_process.sh FOLDER NODE=ADDRESS...
# FOLDER has
#   hosts    the file that stands for /etc/hosts; its first line is of the node `login`
#   local    a folder that is local to each node, which has local.NODE in its place
#   small    a file system that all nodes share and that a test can make full
#
# Runs in network, mount, host name and process namespaces of its own. Says one line a node: the
# number of a process in its namespaces. When standard input is closed, which the kernel does when
# the starter dies, this process ends, and the kernel kills all others of the process namespace;
# with the last one bridge, addresses and mounts are gone.
# shellcheck shell=sh

set -eu
hosts=$1/hosts local=$1/local small=$1/small
shift

# hold NODE ADDRESS: a node, until it is killed; waits for its end of the cable.
hold() {
    # shellcheck disable=SC2016
    unshare --net --uts --mount --propagation private sh -euc '
        hostname "$1"
        mount --bind "$2.$1" "$2"
        # The sockets of slurmd (slurm.conf).
        mount -t tmpfs -o mode=1777 tmpfs /dev/shm
        echo $$ >"$2/process"
        while ! ip link show dev eth0 >/dev/null 2>&1; do sleep 0.01; done
        ip address add "$3/24" dev eth0
        ip link set eth0 up
        ip link set lo up
        : >"$2/ready"
        exec sleep infinity
    ' sh "$1" "$local" "$2" </dev/null &
}

hostname login
mount --bind "$hosts" /etc/hosts
mount -t tmpfs -o mode=755 tmpfs "$small"
ip link set lo up
ip link add bridge type bridge
ip address add "$(awk '{ print $1; exit }' "$hosts")/24" dev bridge
ip link set bridge up

for node; do
    hold "${node%=*}" "${node#*=}"
done
for node; do
    name=${node%=*}
    until [ -s "$local.$name/process" ]; do sleep 0.01; done
    process=$(cat "$local.$name/process")
    ip link add "to-$name" type veth peer name eth0 netns "$process"
    ip link set "to-$name" master bridge up
    until [ -e "$local.$name/ready" ]; do sleep 0.01; done
    echo "$name $process"
done
echo ready

# Daemons become children of this process; with SIGCHLD ignored none of them is left as a zombie.
exec env --ignore-signal=CHLD cat >/dev/null
