"""What computing stands on: cores and memory, devices, processes beside this one."""
