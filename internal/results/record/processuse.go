package record

import (
	"maps"
	"math"
)

// ProcessUse holds the resources that a process used between its two latest samples. Writes and RSS
// are NaN if they are unknown.
type ProcessUse struct {
	CPU    float64 // CPUs, user and system
	Writes float64 // bytes written to disk per second
	RSS    float64 // bytes at the latest sample
}

// ProcessUses computes the resource use of each process from its samples. The zero value has no
// samples.
type ProcessUses struct {
	latest map[string]MachineRow // by name
	begun  map[string]MachineRow // the first sample of each process since the last call of Begin, by name
}

// Add adds a sample. It returns the resources that the process used since its previous sample. ok
// is false if there is no previous sample, if the CPU time is unknown, or if the row does not
// describe a process.
func (u *ProcessUses) Add(r *MachineRow) (use ProcessUse, ok bool) {
	if !(r.PID > 0) { // the row describes a machine or a part of a machine
		return use, false
	}
	if u.latest == nil {
		u.latest, u.begun = map[string]MachineRow{}, map[string]MachineRow{}
	}
	before, known := u.latest[r.Name]
	u.latest[r.Name] = *r
	if !known || !r.Continues(&before) {
		u.begun[r.Name] = *r
		return use, false
	}
	return useBetween(&before, r)
}

// Begin begins a new period for Average.
func (u *ProcessUses) Begin() { u.begun = maps.Clone(u.latest) }

// Average returns the average resource use of a process since the last call of Begin or, if the
// process started later, since its start. ok is false if it is unknown.
func (u *ProcessUses) Average(name string) (use ProcessUse, ok bool) {
	before, known := u.begun[name]
	latest := u.latest[name]
	if !known || !latest.Continues(&before) {
		return use, false
	}
	return useBetween(&before, &latest)
}

func useBetween(before, r *MachineRow) (use ProcessUse, ok bool) {
	span := r.Time.Sub(before.Time).Seconds()
	use = ProcessUse{CPU: (r.CPU() - before.CPU()) / span, Writes: (r.WriteBytes - before.WriteBytes) / span, RSS: r.RSS}
	return use, !math.IsNaN(use.CPU)
}
