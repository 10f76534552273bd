# Functions of every script, inside the kernel and on a real device. `off`, which ends the script, is in machine.sh of each.
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
