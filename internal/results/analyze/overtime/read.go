package overtime

import "github.com/quorumbench/quorumbench/internal/results/record"

// Read computes the charts of a trial from its files. They have at most the given number of
// columns. The caller must have read the trial's events (figures.ReadTrialFiles). Read keeps the
// histograms of only one second and one sum for each series in memory, so a trial may have any
// length. If it returns an error, it also returns the part that was read before the error.
func Read(t *record.Trial, columns int) (*Charts, error) {
	o := &Charts{Trial: t, Grid: gridOf(t, columns), bands: map[string]Line{}}
	if o.Grid.Columns == 0 {
		return o, nil
	}
	times := newTimesReader(o)
	err := times.read()
	o.addOperations(times)
	o.addMachines()
	o.addMembers()
	o.addMarks()
	return o, err
}
