package trial

import (
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// machineUse contains samples of the processor time that a machine and our processes on it have
// used.
type machineUse struct {
	cpus int
	// Processor time of the machine: in total; used for any purpose; used by programs; and stolen
	// by its hypervisor.
	total, busy, programs, stolen []usageSample
	ours                          map[string][]usageSample // processor time of our processes, by process ID and name
	lastSampled                   map[string]time.Time     // time of the last sample, by the process's name; also set if the process had exited
}

// add appends a sample of the machine.
func (u *machineUse) add(at time.Time, m *probe.MachineUsage) {
	if m == nil || m.CPU.Total() <= 0 {
		return
	}
	for _, one := range []struct {
		to *[]usageSample
		is float64
	}{{&u.total, m.CPU.Total()}, {&u.busy, m.CPU.Busy()}, {&u.programs, m.CPU.Programs()}, {&u.stolen, m.CPU.Steal}} {
		*one.to = append(*one.to, usageSample{at: at, cpu: one.is})
	}
}

// newMachineUse returns a machineUse without samples.
func newMachineUse(cpus int) *machineUse {
	return &machineUse{cpus: cpus, ours: map[string][]usageSample{}, lastSampled: map[string]time.Time{}}
}

// use appends a sample of one of our processes. If the name had another process in the previous
// sample, this process was started since then, so its processor time was 0 at the previous sample.
func (u *machineUse) use(at time.Time, pid int, name string, p *probe.ProcessUsage) {
	previous, restarted := u.lastSampled[name]
	if name != "" { // several processes may have no name
		u.lastSampled[name] = at
	}
	if !p.OK {
		return
	}
	process := fmt.Sprint(pid, " ", name)
	if len(u.ours[process]) == 0 && restarted {
		u.ours[process] = append(u.ours[process], usageSample{at: previous})
	}
	u.ours[process] = append(u.ours[process], usageSample{at: at, cpu: p.UserSeconds + p.SystemSeconds})
}

// minCovered is the smallest share of a window that samples must cover in order to represent the
// window.
const minCovered = 0.5

// shares returns three shares of the machine's processor time between two times: the share that was
// used for any purpose, the share that the hypervisor stole, and the share that other programs
// used. All three are nil if the samples do not cover enough of that time.
func (u *machineUse) shares(from, to time.Time) (busy, stolen, foreign *float64) {
	if len(u.total) < 2 {
		return nil, nil, nil
	}
	whole := to.Sub(from)
	from, to = latest(from, u.total[0].at), earliest(to, u.total[len(u.total)-1].at)
	if whole <= 0 || to.Sub(from) < time.Duration(minCovered*float64(whole)) {
		return nil, nil, nil
	}
	total := cpuBetween(u.total, from, to)
	if total <= 0 {
		return nil, nil, nil
	}
	others := cpuBetween(u.programs, from, to)
	for _, seen := range u.ours {
		others -= max(cpuBetween(seen, from, to), 0)
	}
	share := func(x float64) *float64 { return new(min(max(x/total, 0), 1)) }
	return share(cpuBetween(u.busy, from, to)), share(cpuBetween(u.stolen, from, to)), share(others)
}

// cpuBetween returns the processor time that was used between two times, in seconds.
func cpuBetween(seen []usageSample, from, to time.Time) float64 {
	cpu := func(u *usageSample) float64 { return u.cpu }
	return valueAt(seen, to, cpu) - valueAt(seen, from, cpu)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
