// Package wallclock moves the wall clock of one process, and of nobody else: the
// process is told another time by the system than everybody.
//
// Programs ask for the time by functions that the kernel puts into the memory of each
// process (the vDSO), in C as in Go and Java. There the first instruction of those that
// tell the wall clock is replaced by a jump to code of ours, in the part of that memory
// that nobody uses: it asks the kernel by a system call and adds what the clock is
// ahead. Each process has pages of its own of what is written to, so no other one
// notices, and nothing of it is left when the process has ended. The monotonic clock,
// by which timeouts and leases are measured, is as it was.
//
// What a process asks by a system call of its own, and the times that the kernel writes
// down for it, as those of files, are as everybody's.
package wallclock

import "time"

// MostAhead bounds how far a clock is moved, either way.
const MostAhead = 10 * 365 * 24 * time.Hour

// Possible says in one sentence why no process's clock can be moved here; nil if those
// of our own processes can.
func Possible() error { return possible() }

// Set has the wall clock of a process of ours be ahead of the machine's; below 0 it is
// behind, and 0 has it tell the time again. The process stands still meanwhile, for less
// than a millisecond mostly. One that has ended is let be.
func Set(pid int, ahead time.Duration) error { return set(pid, ahead) }
