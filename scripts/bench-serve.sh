#!/usr/bin/env bash
# Throughput of `nandscope serve --speed max` beside nbdkit's memory plugin: the same client, alternating
# runs, 4 KiB random reads at QD32 and 1 MiB reads at QD8 over a unix socket. Prints each pair and the
# ratio of the medians; fails where one is below 0.8.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${ROUNDS:-5} seconds=${SECONDS_EACH:-3}
nandscope=${CARGO_TARGET_DIR:-target}/release/nandscope
for tool in nbdkit fio python3; do
    command -v "$tool" >/dev/null || { echo "$tool is missing" >&2; exit 1; }
done
[[ -x $nandscope ]] || cargo build --release
work=$(mktemp -d)
served=() # processes that were started here
trap 'kill "${served[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT

"$nandscope" serve sim:reference-nvme-64gb --nbd "unix:$work/ours.sock" --speed max >"$work/log" &
served+=($!)
nbdkit -f -U "$work/theirs.sock" memory 1G &
served+=($!)
while [[ ! -S $work/ours.sock || ! -S $work/theirs.sock ]]; do sleep 0.1; done

measure() { # SERVER ARGUMENTS...
    local socket=$work/$1.sock
    shift
    fio --name=a --ioengine=nbd --uri="nbd+unix:///?socket=$socket" --size=1g --time_based \
        --runtime="$seconds" --output-format=json "$@" |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["jobs"][0]["read"]["bw_bytes"])'
}
for server in ours theirs; do
    fio --name=fill --ioengine=nbd --uri="nbd+unix:///?socket=$work/$server.sock" --size=1g \
        --rw=write --bs=1m --iodepth=4 >/dev/null
done
status=0
for job in "--rw=randread --bs=4k --iodepth=32" "--rw=read --bs=1m --iodepth=8"; do
    : >"$work/pairs"
    for ((round = 0; round < rounds; round++)); do
        # shellcheck disable=SC2086 # words of a job
        echo "$(measure ours $job) $(measure theirs $job)" >>"$work/pairs"
    done
    python3 - "$job" "$work/pairs" <<'PYTHON' || status=1
import statistics, sys
pairs = [tuple(map(int, line.split())) for line in open(sys.argv[2])]
ours, theirs = (statistics.median(side) for side in zip(*pairs))
for a, b in pairs:
    print(f"  {a / 1e6:8.0f} MB/s  nbdkit {b / 1e6:8.0f} MB/s")
print(f"{sys.argv[1]}: {ours / theirs:.2f} of nbdkit")
sys.exit(ours < 0.8 * theirs)
PYTHON
done
exit $status
