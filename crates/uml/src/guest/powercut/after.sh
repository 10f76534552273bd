# Power is back: repair, mount, count what was promised, umount, check. `REPAIR` and `CHECK` are empty where
# a file system has no such program, `LINES_PROMISED` and `FILES_PROMISED` are the numbers of lines and files that were promised.
DEV=/dev/vda
mkdir /run/mnt
if [ -n "$REPAIR" ]; then
    sh -c "$REPAIR" >/run/repair 2>&1
    value repair $?
fi
if mount -i -t "$FS" -o noatime "$DEV" /run/mnt 2>/run/said; then
    value mounted 1
    perl -e '
        use strict; use warnings;
        my ($folder, $lines, $files) = @ARGV;
        my ($there, $whole) = (0, 0);
        if (open(my $log, "<", "$folder/log")) {
            for my $n (1 .. $lines) {
                my $line = sprintf("%06d something happened that somebody may want to read about later\n", $n);
                (read($log, my $read, length $line) // 0) == length $line or last;
                $there++ if $read eq $line;
            }
        }
        for my $n (1 .. $files) {
            my $whole_text = sprintf("%06d\n", 4 * $n) x 700;
            open(my $file, "<", sprintf("%s/file%06d", $folder, 4 * $n)) or next;
            local $/;
            my $read = <$file> // "";
            $whole++ if $read eq $whole_text;
        }
        print "\@value lines $there\n\@value files $whole\n"' /run/mnt/w "$LINES_PROMISED" "$FILES_PROMISED"
    umount /run/mnt || failed "umount after the cut"
fi
if [ -n "$CHECK" ]; then
    sh -c "$CHECK" >/run/check 2>&1
    value check $?
fi
[ -s /run/repair ] && sed 's/^/repair: /' /run/repair | tail -n 30
[ -s /run/check ] && sed 's/^/check: /' /run/check | tail -n 12
cat /run/said
