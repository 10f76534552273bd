work() {
    try perl -e '
        use strict; use warnings;
        use Fcntl;
        use IO::Handle;
        my ($folder, $lines) = @ARGV;
        sysopen(my $log, "$folder/messages", O_WRONLY | O_CREAT | O_APPEND) or die "$!";
        for my $n (1 .. $lines) {
            my $line = sprintf("%06d something happened that somebody may want to read about later\n", $n);
            syswrite($log, $line) or die "$!";
            $log->sync or die "$!";
        }' "$MNT" "${LOG_LINES:-500}"
}
