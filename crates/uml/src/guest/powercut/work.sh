# Makes what must survive a power cut once fsync has returned: a log of numbered lines, each synced, and after
# every fourth a new file, synced with its folder. `Promises` in powercut/mod.rs counts the calls of fsync.
work() {
    try perl -e '
        use strict; use warnings;
        use Fcntl;
        my ($folder, $lines) = @ARGV;
        sub safe { syscall(74, fileno($_[0])) == 0 or die "fsync: $!"; }
        sysopen(my $home, $folder, O_RDONLY | O_DIRECTORY) or die "$!";
        sysopen(my $log, "$folder/log", O_WRONLY | O_CREAT | O_APPEND) or die "$!";
        safe($home);
        for my $n (1 .. $lines) {
            syswrite($log, sprintf("%06d something happened that somebody may want to read about later\n", $n)) or die "$!";
            safe($log);
            next if $n % 4;
            sysopen(my $file, sprintf("%s/file%06d", $folder, $n), O_WRONLY | O_CREAT) or die "$!";
            syswrite($file, sprintf("%06d\n", $n) x 700) or die "$!";
            safe($file);
            safe($home);
        }' "$MNT" "${CUT_LINES:-40}"
}
