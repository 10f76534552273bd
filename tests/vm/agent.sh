# Runs the scripts that the host names on the second serial port, each as a job of its own: /share/N.sh, whose output goes to
# N.out and, once it has ended, its exit code to N.rc.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp/home LC_ALL=C.UTF-8 TERM=dumb
mkdir -p /tmp/home /tmp/work
cd /tmp/work
cp /share/nandscope /tmp/nandscope && chmod 755 /tmp/nandscope
PATH=/tmp:$PATH
stty -F /dev/ttyS1 raw -echo
exec 3<>/dev/ttyS1
touch /share/ready
while read -r n <&3; do
    (
        exec 3<&-
        bash "/share/$n.sh" >"/share/$n.out" 2>&1 </dev/null &
        echo $! >"/share/$n.pid"
        wait $!
        echo $? >"/share/$n.part"
        mv "/share/$n.part" "/share/$n.rc"
    ) &
done
