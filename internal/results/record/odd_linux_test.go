package record

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A run directory can contain pipes or endless files instead of its regular files. Opening it does
// not block on the pipes, and does not read the endless files.
func TestOddFilesOfARunAreRefused(t *testing.T) {
	dir := t.TempDir()
	trial := filepath.Join(dir, "trial-01")
	must(t, os.Mkdir(trial, 0o700))
	b, err := encode(Run{Schema: RunSchema, State: Complete, Trials: []Trial{{Schema: TrialSchema, Folder: "trial-01"}}})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, runFile), b, 0o600))
	must(t, syscall.Mkfifo(filepath.Join(trial, timelineFile), 0o600))
	must(t, syscall.Mkfifo(filepath.Join(trial, hlogFile), 0o600))
	must(t, os.WriteFile(filepath.Join(trial, eventsFile), nil, 0o600))
	must(t, os.Truncate(filepath.Join(trial, eventsFile), 1<<40))
	run, err := Open(dir)
	must(t, err)
	run.ReadTrialFiles(dir, noRecovery)
	all := strings.Join(run.Problems, "\n")
	for _, want := range []string{"it is a pipe and not a regular file", "it is larger than 256 MiB"} {
		if !strings.Contains(all, want) {
			t.Errorf("the problems %q do not mention %q", all, want)
		}
	}
	if err := ReadIntervals(dir, "trial-01", nil, nil); err == nil || !strings.Contains(err.Error(), "it is a pipe") {
		t.Errorf("the log's intervals: %v", err)
	}
	must(t, os.Remove(filepath.Join(dir, runFile)))
	must(t, syscall.Mkfifo(filepath.Join(dir, runFile), 0o600))
	_, err = Open(dir)
	sentence(t, err, "it is a pipe and not a regular file")
}
