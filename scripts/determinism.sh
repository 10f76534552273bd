#!/usr/bin/env bash
# Runs the same jobs with two builds of nandscope and compares the result documents, wall-clock
# facts apart: determinism.sh BUILD_A BUILD_B
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/load.fio" <<'JOB'
[global]
ioengine=libaio
bs=4k
number_ios=20000
[fill]
rw=write
bs=1m
size=4g
number_ios=0
[mix]
stonewall
rw=randrw
size=4g
iodepth=8
random_distribution=zipf:1.1
[rated]
stonewall
rw=randwrite
size=1g
rate_iops=2000
number_ios=4000
JOB
sed -i '/number_ios=0/d' "$work/load.fio"

compare() { # NAME JOB TARGET OPTION…
    local name=$1 build side=0
    shift
    for build in "${builds[@]}"; do
        side=$((side + 1))
        "$build" run "$@" --seed 11 --result "$work/$name.$side.json" >/dev/null 2>&1
        grep -vE '^ *"(started|elapsed_s)": ' "$work/$name.$side.json" >"$work/$name.$side.plain"
    done
    if ! cmp "$work/$name.1.plain" "$work/$name.2.plain"; then
        diff "$work/$name.1.plain" "$work/$name.2.plain" | cut -c1-200 | head -20 >&2 || true
        echo "$name: ${builds[0]} and ${builds[1]} give different results" >&2
        exit 1
    fi
    echo "$name: identical ($(wc -c <"$work/$name.1.plain") bytes)"
}

builds=("$1" "$2")
cp crates/cli/tests/data/tiny.toml "$work/tiny.toml"
printf '[a]\nrw=randwrite\nbs=4k\nio_size=64m\niodepth=4\nioengine=libaio\n' >"$work/tiny.fio"
printf '[a]\nread_iolog=database\niodepth=8\nioengine=libaio\n' >"$work/trace.fio"

compare tiny "$work/tiny.fio" "sim:$work/tiny.toml" --precondition random
compare load "$work/load.fio" sim:sm2708-250gb
compare uhs "$work/load.fio" sim:sm2708-250gb --host lexar-sr2
compare nvme "$work/load.fio" sim:reference-nvme-64gb --precondition random:90
compare card "$work/load.fio" sim:samsung-evo-16gb --host odroid-xu3 --precondition random:90
compare trace "$work/trace.fio" sim:sm2708-250gb --host rtl9211ds

for side in 1 2; do
    "${builds[side - 1]}" review sim:sm2708-250gb --quick --seed 11 -o "$work/review.$side" >/dev/null 2>&1
    grep -vE '^ *"(started|elapsed_s)": ' "$work/review.$side/result.json" >"$work/review.$side.plain"
done
cmp "$work/review.1.plain" "$work/review.2.plain"
echo "review: identical ($(wc -c <"$work/review.1.plain") bytes)"
