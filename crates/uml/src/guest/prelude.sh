# The beginning of every script: a bare machine whose root is the host's own, read only.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/run TMPDIR=/run LC_ALL=C TZ=UTC0
umask 022

# Says that a part begins.
mark() {
    echo "@mark $1 $EPOCHREALTIME"
}

# Says a number that belongs to the result.
value() {
    echo "@value $1 $2"
}

# Switches the machine off.
off() {
    echo o >/proc/sysrq-trigger
    sleep 3600
}

# Says what failed, and ends.
failed() {
    echo "@failed $*"
    off
}

# Runs a program quietly; where it fails, shows what it said and ends.
try() {
    "$@" >/run/said 2>&1 || {
        code=$?
        tail -n 20 /run/said
        # Some tools say who they are before it, and how they are used behind it.
        words=$(grep -aim 1 -e error -e invalid -e must -e cannot -e ' not ' -e 'too ' /run/said)
        command=$*
        failed "${command%%$'\n'*} (exit code $code)${words:+: $words}"
    }
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
