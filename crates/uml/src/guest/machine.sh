
# A bare machine whose root is the host's own, read only.
# Switches the machine off.
off() {
    echo o >/proc/sysrq-trigger
    sleep 3600
}

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /run
mkdir /run/work
cd /run/work || failed "no place to work"
ulimit -c 0
# The shell must not be what is written last where memory is short.
echo 0 >/proc/sys/vm/swappiness 2>/dev/null
