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

// printExtras prints the summary of etcd's benchmark. It returns an error if the members' data
// could not be compared. Only `bench` does this; `run` does not.
func printExtras(a *command.App, f *options, run *record.Run, dir string) error {
	if f.repeats > 1 {
		return nil // etcd's benchmark has no summary of several repeats
	}
	if len(run.Trials) == 0 || run.Trials[0].Opened == nil {
		return nil // the failure was reported
	}
	t := &run.Trials[0]
	if err := printClassic(a, f, dir, t); err != nil {
		return err
	}
	if h := t.Hashes; h != nil && h.Failure != "" {
		return &command.Exit{Code: command.ExitUndecided, Cause: fmt.Errorf("cannot compare the members' data: %s", h.Failure)}
	}
	return nil
}

// printClassic prints the summary of etcd's benchmark if the user asked for it, and writes the
// perfdash report.
func printClassic(a *command.App, f *options, dir string, t *record.Trial) error {
	files, err := record.OpenTrial(dir, t.Folder)
	if err != nil {
		return err
	}
	summary := f.summary
	summary.Operations, summary.Created, summary.Events = f.kind.sections.Operations, f.kind.sections.Created, f.kind.sections.Events
	if f.wantsSummary(a.Wide) {
		if f.format == "text" && f.manyKeys() && t.KeySpace > 1 {
			summary.Note = fmt.Sprintf("The key space has %s keys. In etcd's benchmark (releases 2.3 to 3.7) it has 1 key unless --key-space-size is given, even with --sequential-keys.", text.Count(t.KeySpace))
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

// wantsSummary reports whether the command prints the summary of etcd's benchmark. With --format
// etcd the summary is the only output; with --wide, --precise or --sample it follows the result.
func (f *options) wantsSummary(wide bool) bool {
	return f.format == "etcd" || f.format == "text" && (wide || f.summary.Precise || f.summary.Sample)
}

// manyKeys reports whether the command uses its default key space and etcd's benchmark would write
// only one key instead. In that tool, the default key space of put, txn-put and txn-mixed is a
// single key.
func (f *options) manyKeys() bool {
	return f.set.Lookup("key-space-size") != nil && !f.set.Changed("key-space-size") &&
		slices.Contains([]string{"put", "txn-put", "txn-mixed"}, f.kind.name)
}

// artifacts is the folder of perfdash reports, unless $ARTIFACTS names another folder.
const artifacts = "_artifacts"

func writePerfdash(a *command.App, f *options, summary report.Classic, t *record.Trial, files *record.Files) error {
	dir := os.Getenv("ARTIFACTS")
	if dir == "" {
		dir = artifacts
		// If others can write to the folder, a symbolic link there could redirect the report.
		if info, err := os.Lstat(dir); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return fmt.Errorf("%s is a symbolic link, and perfdash reports are not written to linked folders; set the variable ARTIFACTS to the report's folder", dir)
		}
	}
	path, err := summary.WritePerfdash(dir, f.kind.name, t, files, time.Now())
	if err == nil {
		a.PrintNote("the perfdash report is in %s", path)
	}
	return err
}
