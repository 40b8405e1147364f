"""What the affinity experiments measured: contention, SMT sharing, ping-pong, who ran where."""
