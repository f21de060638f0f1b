"""Commands from other processes of the same user: a socket per process that hosts runs, one line of JSON each way."""
