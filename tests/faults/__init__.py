"""Real faults: killed processes, full and read-only disks, damaged files, signals, threads, little memory.

Each script is one process that tries several faults, mostly in children that it forks, and ends with code 0
if all of them ended as ``docs/reliability.md`` says.
"""
