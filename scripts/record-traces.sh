#!/bin/bash
# Records the block requests of real programs and stores them as traces/NAME.nstrace.
#
# Each program works on an ext4 file system of its own, on a loop device over a sparse file in
# memory (/dev/shm), so that the recorded times are those of the program and the kernel on a
# device that costs next to nothing. Before each recording the file system is unmounted and
# mounted again, so that nothing of it is cached and reads reach the device.
#
# Needs: root, a Linux kernel with tracefs, loop and ext4; for the programs themselves dpkg and
# apt-get (package-install), cargo (source-build), python3 (database), chromium (browser-start),
# ffmpeg (photo-import). Downloads about 80 MB of Debian packages for package-install.
#
# Usage: scripts/record-traces.sh [NAME ...]     without names: all of them
#   SCRATCH=/dev/shm   where the image and the material go (about 6 GB at most)
#   OUT=traces         where the traces go
#   KEEP_TEXT=DIR      keep the blkparse text of each recording there
set -euo pipefail

ALL="package-install source-build database browser-start photo-import"
SIZE=8G
ROOT=$(cd "$(dirname "$0")/.." && pwd)
OUT=${OUT:-$ROOT/traces}
SCRATCH=${SCRATCH:-/dev/shm}
TRACING=/sys/kernel/tracing

[ "$(id -u)" = 0 ] || { echo "record-traces: needs root, for loop devices and tracefs" >&2; exit 1; }
[ -d $TRACING/instances ] || { echo "record-traces: mount -t tracefs none $TRACING first" >&2; exit 1; }

# A mount namespace of our own: no desktop service sees, indexes or unmounts what we mount.
if [ -z "${RECORD_TRACES_INNER:-}" ]; then
    RECORD_TRACES_INNER=1 exec unshare --mount "$0" "$@"
fi

WORK=$(mktemp -d "$SCRATCH/record-traces.XXXXXX")
MNT=$WORK/mnt
STUFF=$WORK/material
INSTANCE=$TRACING/instances/nandscope.$$
LOOP=
PIPE_PID=
cleanup() {
    [ -z "$PIPE_PID" ] || kill "$PIPE_PID" 2>/dev/null || true
    mountpoint -q "$MNT" && umount "$MNT"
    [ -z "$LOOP" ] || losetup -d "$LOOP"
    [ ! -d "$INSTANCE" ] || rmdir "$INSTANCE" || true
    rm -rf "$WORK"
}
trap cleanup EXIT
mkdir -p "$MNT" "$STUFF" "$OUT"

# ---- the file system and the recorder --------------------------------------------------------

fresh_fs() {
    truncate -s 0 "$WORK/image"
    truncate -s $SIZE "$WORK/image"
    LOOP=$(losetup -f --show "$WORK/image")
    # Without lazy initialisation: else the kernel writes inode tables during the recording.
    mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 "$LOOP"
    mount -o noatime "$LOOP" "$MNT"
}

remount() { umount "$MNT"; mount -o noatime "$LOOP" "$MNT"; }

drop_fs() { umount "$MNT"; losetup -d "$LOOP"; LOOP=; }

start_recording() {
    local minor=${LOOP#/dev/loop}
    mkdir "$INSTANCE"
    echo 16384 > "$INSTANCE/buffer_size_kb"
    echo mono > "$INSTANCE/trace_clock"
    echo "dev == $(( (7 << 20) | minor ))" > "$INSTANCE/events/block/block_rq_issue/filter"
    cat "$INSTANCE/trace_pipe" > "$WORK/events" &
    PIPE_PID=$!
    echo 1 > "$INSTANCE/events/block/block_rq_issue/enable"
}

stop_recording() {
    sync -f "$MNT"
    sleep 1
    echo 0 > "$INSTANCE/events/block/block_rq_issue/enable"
    sleep 1
    kill "$PIPE_PID"; wait "$PIPE_PID" 2>/dev/null || true
    PIPE_PID=
    if grep -q 'LOST' "$WORK/events"; then
        echo "record-traces: the kernel lost events; the recording would have holes" >&2; exit 1
    fi
    rmdir "$INSTANCE"
}

# A line of tracefs becomes a line of blkparse's default output:
#   cp-71 [000] ..... 12.345678: block_rq_issue: 7,0 WS 4096 () 2048 + 8 none,0,0 [cp]
#   7,0 0 1 0.000000000 71 D WS 2048 + 8 [cp]
# Two processors' buffers reach the pipe in turns, hence the sort by time.
as_blkparse() {
    sed -nE 's/^ *.*-([0-9]+) +\[([0-9]+)\] +[^ ]+ +([0-9]+\.[0-9]+): block_rq_issue: ([0-9]+,[0-9]+) ([A-Z]+) [0-9]+ \(.*\) ([0-9]+) \+ ([0-9]+) [^[]*\[(.*)\]$/\3 \4 \2 \1 \5 \6 \7 \8/p' "$WORK/events" |
        sort -s -n -k1,1 |
        awk 'NR == 1 { t0 = $1 }
             { name = $8; for (i = 9; i <= NF; i++) name = name " " $i
               s = ($5 ~ /^FF/) ? "" : $6 " + " $7 " "
               printf "%6s %3d %8d %14.9f %5d  D %3s %s[%s]\n", $2, $3, NR, $1 - t0, $4, $5, s, name }'
}

record() { # NAME TITLE: runs prepare_NAME and run_NAME with _ for -
    local name=$1 function=${1//-/_}
    echo "== $name"
    fresh_fs
    "prepare_$function"
    remount
    start_recording
    "run_$function"
    stop_recording
    drop_fs
    as_blkparse > "$WORK/$name.blkparse"
    [ -z "${KEEP_TEXT:-}" ] || cp "$WORK/$name.blkparse" "$KEEP_TEXT/"
    cargo run -q --manifest-path "$ROOT/Cargo.toml" -p nandscope -- trace convert \
        "$WORK/$name.blkparse" "$OUT/$name.nstrace" --name "$name" --title "$2" \
        --capacity "$(stat -c %s "$WORK/image")"
}

# ---- the programs ------------------------------------------------------------------------------

PACKAGES="git vim-runtime python3-numpy python3-django libboost1.74-dev perl-modules-5.36
    manpages-dev gimp-data fonts-noto-core python3.11-doc libgtk-3-dev libicu-dev"

# Unpacked as dpkg does in an installation, with its fsyncs; without maintainer scripts, which
# would need a whole system below the traced directory.
prepare_package_install() {
    mkdir -p "$STUFF/debs" "$MNT/cache" "$MNT/target/var/lib/dpkg"/{info,updates,triggers}
    (cd "$STUFF/debs" && apt-get -q download $PACKAGES > "$WORK/apt.log" 2>&1) ||
        { cat "$WORK/apt.log" >&2; exit 1; }
    local deb
    for deb in "$STUFF"/debs/*.deb; do
        dpkg-deb -R "$deb" "$STUFF/tree"
        rm -f "$STUFF"/tree/DEBIAN/{preinst,postinst,prerm,postrm,triggers,config}
        dpkg-deb -Zgzip -z1 --root-owner-group -b "$STUFF/tree" "$MNT/cache/$(basename "$deb")" > "$WORK/repack.log" 2>&1 ||
            { cat "$WORK/repack.log" >&2; exit 1; }
        rm -rf "$STUFF/tree"
    done
    touch "$MNT/target/var/lib/dpkg"/{status,available}
}
run_package_install() {
    dpkg --root="$MNT/target" --force-all --install "$MNT"/cache/*.deb > "$WORK/dpkg.log" 2>&1 ||
        { tail -5 "$WORK/dpkg.log" >&2; exit 1; }
}

# The crates that this project itself depends on: unpack their archives, build a program on them.
prepare_source_build() {
    mkdir -p "$MNT/archives" "$MNT/home"
    cargo fetch -q --manifest-path "$ROOT/Cargo.toml"
    cp "${CARGO_HOME:-$HOME/.cargo}"/registry/cache/*/*.crate "$MNT/archives/"
}
run_source_build() {
    mkdir -p "$MNT/build/vendor" "$MNT/build/src" "$MNT/build/tmp"
    local archive crate
    for archive in "$MNT"/archives/*.crate; do
        tar -xzf "$archive" -C "$MNT/build/vendor"
        crate=$MNT/build/vendor/$(basename "$archive" .crate)
        printf '{"files":{},"package":"%s"}' "$(sha256sum "$archive" | cut -d' ' -f1)" > "$crate/.cargo-checksum.json"
    done
    mkdir -p "$MNT/build/.cargo"
    printf '[source.crates-io]\nreplace-with="vendored"\n[source.vendored]\ndirectory="vendor"\n' > "$MNT/build/.cargo/config.toml"
    printf '[package]\nname="built"\nversion="0.1.0"\nedition="2021"\n[dependencies]\nserde={version="1",features=["derive"]}\nserde_json="1"\ntoml={version="0.9",default-features=false,features=["parse","serde","std"]}\nthiserror="2"\nlibm="0.2"\n[workspace]\n' > "$MNT/build/Cargo.toml"
    printf 'fn main() { println!("{}", serde_json::json!({"a": 1})); }\n' > "$MNT/build/src/main.rs"
    (cd "$MNT/build" && TMPDIR=$MNT/build/tmp CARGO_TARGET_DIR=$MNT/build/target CARGO_INCREMENTAL=1 \
        cargo build -q --offline -j2 && ./target/debug/built > "$WORK/built.log")
}

# A small shop's database in SQLite: write-ahead log, synchronous=FULL (each commit is an fsync),
# a page cache smaller than the data, so that look-ups reach the device.
prepare_database() {
    cat > "$STUFF/db.py" <<'PY'
import random, sqlite3, sys, time
phase, path = sys.argv[1], sys.argv[2]
rng = random.Random(1)
db = sqlite3.connect(path, isolation_level=None)
db.execute("pragma journal_mode=wal"); db.execute("pragma synchronous=full"); db.execute("pragma cache_size=-2000")
ROWS = 400_000
def customer(i): return (i, "customer %d" % i, "%032x" % rng.getrandbits(128) * 4, rng.randrange(10**6))
if phase == "fill":
    db.execute("create table customer(id integer primary key, name text, address text, balance int)")
    db.execute("create table orders(id integer primary key, customer int, total int, text text)")
    db.execute("create index by_balance on customer(balance)"); db.execute("create index by_customer on orders(customer)")
    db.execute("begin"); db.executemany("insert into customer values(?,?,?,?)", (customer(i) for i in range(ROWS))); db.execute("commit")
    db.execute("pragma wal_checkpoint(truncate)")
else:
    for n in range(3500):
        db.execute("begin immediate")
        for _ in range(rng.randrange(1, 4)):
            c = rng.randrange(ROWS)
            db.execute("insert into orders(customer,total,text) values(?,?,?)", (c, rng.randrange(10**5), "x" * rng.randrange(40, 400)))
            db.execute("update customer set balance=balance-? where id=?", (rng.randrange(100), c))
        db.execute("commit")
        for _ in range(rng.randrange(0, 6)):
            db.execute("select * from customer where id=?", (rng.randrange(ROWS),)).fetchall()
        if n % 50 == 0:
            db.execute("select count(*),sum(total) from orders where customer between ? and ?", (rng.randrange(ROWS), ROWS)).fetchall()
        if n % 500 == 499:
            time.sleep(0.5)
    db.execute("select sum(balance) from customer").fetchall()
    db.close()
PY
    python3 "$STUFF/db.py" fill "$MNT/shop.db"
}
run_database() { python3 "$STUFF/db.py" load "$MNT/shop.db"; }

# The browser's program, libraries and profile all lie on the traced file system.
prepare_browser_start() {
    cp -r /usr/lib/chromium "$MNT/chromium"
    mkdir "$MNT/lib" "$MNT/profile" "$MNT/tmp"
    ldd /usr/lib/chromium/chromium | awk '$3 ~ /^\// {print $3}' | grep -vE '/(libc|libpthread|libdl|libm|librt|ld-linux[^/]*)\.so' |
        xargs -I{} cp -L {} "$MNT/lib/"
    cp -r /usr/share/fonts "$MNT/fonts"
    {
        echo '<!doctype html><title>A page</title><canvas id=c width=800 height=600></canvas><script>for(let i=0;i<5000;i++)localStorage["k"+i]="v".repeat(i%97);</script>'
        for i in $(seq 2000); do echo "<p style='font-family:serif'>Paragraph $i <b>bold</b> <i>italic</i> &euro; &#x4e2d;</p>"; done
    } > "$MNT/page.html"
}
run_browser_start() {
    local start
    # The first start writes the profile, the second one finds it there.
    for start in first second; do
        LD_LIBRARY_PATH=$MNT/lib TMPDIR=$MNT/tmp timeout 60 "$MNT/chromium/chromium" --headless --no-sandbox --disable-gpu \
            --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync \
            --disable-dev-shm-usage --user-data-dir="$MNT/profile" --screenshot="$MNT/$start.png" "file://$MNT/page.html" \
            > "$WORK/chromium.log" 2>&1 || { tail -5 "$WORK/chromium.log" >&2; exit 1; }
    done
}

# A card of 150 photos is copied in; then a viewer makes a thumbnail of each.
prepare_photo_import() {
    mkdir "$STUFF/photos" "$MNT/photos" "$MNT/thumbnails"
    local i
    for i in $(seq 10); do
        ffmpeg -v error -y -f lavfi -i "testsrc2=s=4000x3000:d=1,noise=alls=$((12 + 3 * i)):all_seed=$i" -frames:v 1 -q:v 3 "$STUFF/photos/$i.jpg"
    done
}
run_photo_import() {
    local i
    for i in $(seq 150); do
        cp "$STUFF/photos/$(( i % 10 + 1 )).jpg" "$(printf '%s/photos/IMG_%04d.JPG' "$MNT" "$i")"
    done
    sync -f "$MNT"
    python3 - "$MNT/photos" <<'PY'
import os, sys
for name in os.listdir(sys.argv[1]):
    with open(os.path.join(sys.argv[1], name), "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
PY
    for i in $(seq 60); do
        ffmpeg -v error -y -i "$(printf '%s/photos/IMG_%04d.JPG' "$MNT" "$i")" -vf scale=320:-1 "$MNT/thumbnails/$i.jpg" < /dev/null
    done
}

title_of() {
    case $1 in
        package-install) echo "Installing packages with dpkg" ;;
        source-build) echo "Unpacking and building a source tree with cargo" ;;
        database) echo "SQLite under load, write-ahead log, full synchronisation" ;;
        browser-start) echo "Starting Chromium cold, then once more" ;;
        photo-import) echo "Copying photos in and making thumbnails" ;;
        *) return 1 ;;
    esac
}

for name in ${*:-$ALL}; do
    title=$(title_of "$name") || { echo "record-traces: no recording is called $name; known: $ALL" >&2; exit 1; }
    record "$name" "$title"
done
