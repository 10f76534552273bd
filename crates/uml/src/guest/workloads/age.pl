# Fills a file system to a percentage with files as people have them, then deletes a third of them and fills
# up again, so often. Arguments: where, percent, rounds.
use strict;
use warnings;
my ($root, $percent, $rounds) = @ARGV;
my $state = 999;
sub draw {
    $state = ($state * 1103515245 + 12345) % 2147483648;
    return $state / 2147483648;
}
sub full {
    # f_blocks, f_bfree and f_bavail are what df shows.
    my @line = split ' ', (split /\n/, `df -Pk $root`)[1];
    return ($line[1], $line[3]);
}
my $data = "a" x 1048576;
my ($number, @files) = (0);
mkdir "$root/aged";
sub fill {
    my ($total, $free) = full();
    my $goal = $free - $total * (100 - $percent) / 100;
    while ($goal > 0) {
        my $size = int(4096 * 1024 ** draw());
        $size = 1048576 * 4 if $goal > 262144 && $number % 4 == 0;
        my $folder = sprintf("%s/aged/%03d", $root, $number / 100);
        mkdir $folder if $number % 100 == 0;
        my $name = "$folder/$number";
        open(my $file, '>', $name) or last;
        for (my $left = $size; $left > 0; $left -= 1048576) {
            my $part = $left < 1048576 ? $left : 1048576;
            syswrite($file, $data, $part) or last;
        }
        close($file);
        push @files, $name;
        $number++;
        $goal -= $size / 1024;
    }
}
fill();
for (1 .. $rounds) {
    my @kept;
    for my $name (@files) {
        if (draw() < 0.33) { unlink $name or die "$name: $!"; }
        else { push @kept, $name; }
    }
    @files = @kept;
    system("sync");
    fill();
}
system("sync");
