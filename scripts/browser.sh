#!/usr/bin/env bash
# Makes a page of each kind in a folder and looks at them in a browser. Two pages at a time: a check waits for the browser
# as often as it works.
# usage: browser.sh BINARY FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
nandscope=$1 work=$2

review() { # PROFILE NAME
    "$nandscope" review "sim:$1" --quick -o "$work/$2" >/dev/null
}

page() { # FILE NAME
    python3 tests/browser/check_report.py "$work/$1" "$work/screens-$2"
}

reports() {
    review sm2708-250gb report
    page report/report.html report
}

kinds() {
    "$nandscope" probe sim:kingston-8gb -o "$work/probe" >/dev/null
    page probe/report.html probe
    "$nandscope" verify sim:kingston-8gb --fault 'fake 2GiB wrap' -o "$work/verify" >/dev/null || [ $? -eq 10 ]
    page verify/report.html verify
    "$nandscope" fs sim:samsung-evo-16gb --fs ext4,f2fs --workload log --setting LOG_LINES=20 -o "$work/fs" >/dev/null
    page fs/report.html fs
    "$nandscope" review sim:kingston-8gb --suite fill -o "$work/fill" >/dev/null
    page fill/report.html fill
    review samsung-evo-16gb other
    review kingston-8gb third
}

compared() {
    "$nandscope" compare "$work/report/result.json" "$work/other/result.json" --html "$work/compare.html" >/dev/null
    page compare.html compare
    printf '[reads]\nrw=randread\nbs=4k\nioengine=libaio\ndirect=1\ntime_based\nruntime=100ms\n' >"$work/reads.fio"
    "$nandscope" sweep "$work/reads.fio" sim:reference-nvme-64gb --param controller.cores=1,2 --job iodepth=1,8,64 \
        --precondition random --metric iops,p99 -o "$work/sweep" >/dev/null
    page sweep/report.html sweep
}

shelf() {
    "$nandscope" shelf add --shelf "$work/shelf" "$work"/{report,other,third}/result.json
    "$nandscope" shelf site --shelf "$work/shelf" -o "$work/site"
    python3 tests/browser/check_shelf.py "$work/site" "$work/screens-site"
}

both() { # FIRST SECOND: both at once; fails where one does
    "$1" &
    local first=$!
    "$2"
    wait "$first"
}

both reports kinds
both compared shelf
