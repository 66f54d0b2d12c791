# Prints what libsisimai-perl finds in each file: a line of JSON for each argument. With --times N, reads all files N times and prints
# the processor time of one round.
use strict;
use warnings;
use JSON::PP;
use Sisimai;

my $json = JSON::PP->new->canonical->utf8;
if (@ARGV && $ARGV[0] eq '--times') {
    my (undef, $times, @files) = @ARGV;
    my $start = times;
    for (1 .. $times) { for my $file (@files) { my $found = eval { Sisimai->make($file, delivered => 1) } } }
    my $seconds = (times - $start) / $times;
    print $json->encode({ files => scalar @files, secondsPerRound => $seconds }), "\n";
    exit 0;
}
for my $file (@ARGV) {
    my $found = eval { Sisimai->make($file, delivered => 1) };
    my @rows = map { { reason => $_->reason, hard => $_->softbounce == 0 ? 1 : 0, recipient => lc $_->recipient->address } } @{ $found || [] };
    print $json->encode({ file => $file =~ s{.*/}{}r, rows => \@rows }), "\n";
}
