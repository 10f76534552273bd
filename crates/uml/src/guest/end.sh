mark end
echo @done
off
