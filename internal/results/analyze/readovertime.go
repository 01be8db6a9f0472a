package analyze

import "github.com/quorumbench/quorumbench/internal/results/record"

// ReadOverTime reads the course of a trial whose events have been read (record.Run.ReadEvents), in
// at most columns columns. It holds one second's histogram at a time, for a trial of any length. If
// it returns an error, it also returns the part that it has read.
func ReadOverTime(t *record.Trial, columns int) (*OverTime, error) {
	o := &OverTime{Trial: t, Grid: gridOf(t, columns), bands: map[string]Line{}}
	if o.Grid.N == 0 {
		return o, nil
	}
	times := newTimesOverTime(o)
	err := times.read()
	o.addOperations(times)
	o.addMachines()
	o.addMembers()
	o.addMarks()
	return o, err
}
