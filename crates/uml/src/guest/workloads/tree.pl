# A source tree as those of kernels are: most files small, a few large; the same in every run.
# Arguments: where, how many files.
use strict;
use warnings;
my ($root, $count) = @ARGV;
my $state = 12345;
sub draw {
    $state = ($state * 1103515245 + 12345) % 2147483648;
    return $state / 2147483648;
}
my $line = "static int function_of_this_file(struct device *dev, unsigned long flags);\n";
my $text = $line x 4000;
mkdir $root;
for my $n (0 .. $count - 1) {
    my $folder = sprintf("%s/part%02d", $root, $n % 40);
    mkdir $folder;
    # A log-uniform size between 400 bytes and 100 kB has a mean of about 18 kB.
    my $size = int(400 * 250 ** draw());
    open(my $file, '>', sprintf("%s/file%04d.c", $folder, $n)) or die "$folder: $!";
    print $file substr($text, 0, $size);
    close($file) or die "$!";
}
