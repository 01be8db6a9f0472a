package analyze

import "github.com/quorumbench/quorumbench/internal/results/record"

// ReadOverTime reads how a trial went whose events have been read
// (record.Run.ReadEvents), in at most so many columns. It holds one second's
// histogram at a time, however long the trial ran. What could be read before an
// error is in what it returns.
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
