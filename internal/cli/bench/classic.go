package bench

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/text"
)

// afterwards prints the summary of etcd's benchmark, and returns an error if the members' data
// could not be compared. `run` does neither.
func afterwards(a *command.App, f *options, run *record.Run, dir string) error {
	if f.repeats > 1 {
		return nil // etcd's benchmark has no summary of several repeats
	}
	if len(run.Trials) == 0 || run.Trials[0].Opened == nil {
		return nil // the failure was reported
	}
	t := &run.Trials[0]
	if err := classic(a, f, dir, t); err != nil {
		return err
	}
	if h := t.Hashes; h != nil && h.Failure != "" {
		return &command.Exit{Code: command.ExitNotKnown, Cause: fmt.Errorf("the members' data could not be compared: %s", h.Failure)}
	}
	return nil
}

// classic prints the summary of etcd's benchmark if it is wanted, and writes the perfdash report.
func classic(a *command.App, f *options, dir string, t *record.Trial) error {
	files, err := record.OpenTrial(dir, t.Folder)
	if err != nil {
		return err
	}
	summary := f.summary
	summary.Operations, summary.Created, summary.Events = f.kind.sections.Operations, f.kind.sections.Created, f.kind.sections.Events
	if f.wantsSummary(a.Wide) {
		if f.format == "text" && f.manyKeys() && t.KeySpace > 1 {
			summary.Note = fmt.Sprintf("The key space has %s keys; etcd's benchmark (releases 2.3 to 3.7) overwrites 1 key unless --key-space-size says otherwise, with --sequential-keys too.", text.Count(t.KeySpace))
		}
		if err := summary.Write(a.Stdout, t, files); err != nil {
			return err
		}
	}
	if f.perfdash {
		return writePerfdash(a, f, summary, t, files)
	}
	return nil
}

// wantsSummary reports whether the command prints the summary of etcd's benchmark: only the summary
// with --format etcd, and after the result with --wide or a flag of the summary.
func (f *options) wantsSummary(wide bool) bool {
	return f.format == "etcd" || f.format == "text" && (wide || f.summary.Precise || f.summary.Sample)
}

// manyKeys reports whether the command has a larger key space by default than the command with the
// same name in etcd's benchmark, and no flag sets the key space.
func (f *options) manyKeys() bool {
	return f.set.Lookup("key-space-size") != nil && !f.set.Changed("key-space-size") &&
		slices.Contains([]string{"put", "txn-put", "txn-mixed"}, f.kind.name)
}

// artifacts is the folder of perfdash reports, unless $ARTIFACTS names one.
const artifacts = "_artifacts"

func writePerfdash(a *command.App, f *options, summary report.Classic, t *record.Trial, files *record.Files) error {
	dir := os.Getenv("ARTIFACTS")
	if dir == "" {
		dir = artifacts
		// In a folder that other users can write to, their symbolic link could redirect the report.
		if info, err := os.Lstat(dir); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return fmt.Errorf("%s is a symbolic link, and the perfdash report is not written through one; name its folder with the variable ARTIFACTS", dir)
		}
	}
	path, err := summary.WritePerfdash(dir, f.kind.name, t, files, time.Now())
	if err == nil {
		a.Remark("the perfdash report is in %s", path)
	}
	return err
}
