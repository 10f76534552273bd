#!/bin/busybox sh
# First process of the guest: loads the drivers, mounts the host's root, and starts the agent in it.
b=/bin/busybox
$b mkdir -p /proc /sys /dev /lower /memory /root
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
$b mount -t devtmpfs dev /dev
# Modules that the processor cannot use fail to load; what a test needs is checked by that test.
for module in $($b cat /modules/order); do
    $b insmod /modules/$module 2>/dev/null
done
options=trans=virtio,version=9p2000.L,msize=1048576
$b mount -t 9p -o $options,ro,cache=loose host /lower || exec $b poweroff -f
$b mount -t tmpfs memory /memory
$b mkdir /memory/upper /memory/work
$b mount -t overlay -o lowerdir=/lower,upperdir=/memory/upper,workdir=/memory/work overlay /root || exec $b poweroff -f
$b mount --move /proc /root/proc
$b mount --move /sys /root/sys
$b mount --move /dev /root/dev
$b mkdir -p /root/share /root/dev/pts /root/dev/shm
$b ln -s /proc/self/fd /root/dev/fd
$b mount -t tmpfs tmp /root/tmp
$b mount -t tmpfs run /root/run
$b mount -t tmpfs shm /root/dev/shm
$b mount -t devpts pts /root/dev/pts
$b mount -t tracefs trace /root/sys/kernel/tracing 2>/dev/null
$b mount -t 9p -o $options,cache=none share /root/share || exec $b poweroff -f
# No pivot_root: the initramfs stays the root of the mount namespace, and the host's root is a folder of it.
cd /root
$b mount --move . /
exec $b chroot . /bin/bash /share/agent.sh
