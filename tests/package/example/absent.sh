# A converter that can't work on this machine.
read -r line
echo '{"id":1,"status":"ok","name":"absent","version":"1","unavailable":"no GPU"}'
read -r line
