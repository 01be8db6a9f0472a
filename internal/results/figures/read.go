package figures

import "github.com/quorumbench/quorumbench/internal/results/record"

// OpenRun reads a run directory and the events of its trials.
func OpenRun(dir string) (*record.Run, error) {
	run, err := record.Open(dir)
	if err != nil {
		return nil, err
	}
	ReadTrialFiles(run, dir)
	return run, nil
}

// OpenRuns reads run directories and the events of their trials. It returns each run, and one run
// that joins them all.
func OpenRuns(dirs []string) (runs []*record.Run, all *record.Run, err error) {
	for _, dir := range dirs {
		run, err := OpenRun(dir)
		if err != nil {
			return nil, nil, err
		}
		runs = append(runs, run)
	}
	all, err = record.Join(runs)
	return runs, all, err
}

// ReadTrialFiles reads the files of all trials (Run.ReadTrialFiles), and computes the recovery after
// faults. The run must have been opened from dir. ReadTrialFiles adds a sentence to the run's Problems
// for each error. It must be called only once, because it appends to Notes and Problems.
func ReadTrialFiles(r *record.Run, dir string) { r.ReadTrialFiles(dir, computeRecovery) }
