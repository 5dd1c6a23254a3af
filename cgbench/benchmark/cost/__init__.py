"""What a build will cost on this machine: time, memory and disk of each step."""
