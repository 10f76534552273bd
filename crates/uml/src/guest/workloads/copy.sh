# Four threads, each with a folder of photos of 4 MiB; the sources take no time to read.
prepare() {
    for thread in 1 2 3 4; do
        mkdir -p "/run/from/$thread"
        for photo in $(seq "${COPY_PHOTOS:-5}"); do
            head -c 4194304 /dev/zero >"/run/from/$thread/photo$photo.raw"
        done
    done
}

work() {
    for thread in 1 2 3 4; do
        cp -r "/run/from/$thread" "$MNT/" &
    done
    wait
}
