package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/results/analyze/limits"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// diskFlags holds the flags of `check disk`. The defaults are those of the fio measurement in
// etcd's documentation: 22 MiB in records of 2,300 bytes, for at most one minute.
type diskFlags struct {
	store    string
	record   int
	size     int
	records  int
	duration time.Duration
	format   string
}

// maxDiskSize is the maximum number of bytes that `check disk` writes.
const maxDiskSize = 1 << 40

func (a *commandLine) checkDiskCommand() *cobra.Command {
	f := &diskFlags{store: "etcd", record: 2300, size: 22 << 20, duration: time.Minute, format: "text"}
	c := &cobra.Command{
		Use: "disk DIR", Short: "Check whether a disk is fast enough for a store's log", Args: command.ArgsBetween(1, 1, "DIR, the folder in which to write"),
		Example: `  quorumbench check disk /var/lib/etcd
  quorumbench check disk /var/lib/zookeeper --store zookeeper --size 200MiB`,
		Long: `Check whether a disk is fast enough for a store's write-ahead log. The command writes
records of 2,300 bytes one after the other, each followed by fdatasync, like the fio
measurement in etcd's documentation. The file is in a new folder quorumbench-data-*, which
is removed at the end. A folder left by a killed command is removed first.

The exit code is 1 if the disk misses the limit that is recommended for the store in
--store: for etcd, a p99 of fdatasync below 10 ms.`,
	}
	r := command.NewFlags(c.Flags())
	r.Text("store", &f.store, "NAME", "store whose recommended limit determines the exit code")
	r.Size("record-size", &f.record, "size of one record")
	r.Size("size", &f.size, "bytes to write in total")
	r.Int("records", &f.records, "number of records to write, instead of --size")
	r.Duration("duration", &f.duration, "maximum duration")
	a.AddProgress(r)
	r.Format(&f.format, &a.Wide, "text", "json")
	c.RunE = func(c *cobra.Command, args []string) error {
		if c.Flags().Changed("size") && c.Flags().Changed("records") {
			return command.Usage("--size and --records both set the amount to write; give only one of them")
		}
		return a.checkDisk(c.Context(), f, args[0], c.Flags().Changed("records"))
	}
	return c
}

// writes returns the writes to measure, or a usage error for invalid flags. counted is true if
// --records was given. In this case, --size is ignored.
func (f *diskFlags) writes(dir string, counted bool) (w probe.LogWrites, err error) {
	switch {
	case f.record < 1 || f.record > scenario.MaxValueSize:
		return w, command.Usage("--record-size must be from 1 to %s, not %d", text.FormatSize(scenario.MaxValueSize), f.record)
	case counted && f.records < 1:
		return w, command.Usage("--records must be at least 1, not %d", f.records)
	case !counted && f.size < f.record:
		return w, command.Usage("--size must be at least one record of %s, not %d B", text.FormatSize(f.record), f.size)
	case f.duration <= 0 || f.duration > scenario.MaxDuration:
		return w, command.Usage("--duration must be above 0 and at most %v, not %v", scenario.MaxDuration, f.duration)
	}
	w = probe.LogWrites{RecordBytes: f.record, Records: f.records, Duration: f.duration}
	if !counted {
		w.Records = f.size / f.record
	}
	if int64(w.Records) > maxDiskSize/int64(w.RecordBytes) {
		return w, command.Usage("%s of %s are more than 1 TiB; use a smaller --size, or fewer --records", text.Plural(uint64(w.Records), "record"), text.FormatSize(w.RecordBytes))
	}
	info, err := os.Stat(dir)
	var cause *os.PathError
	switch {
	case errors.As(err, &cause):
		return w, fmt.Errorf("cannot write in the folder %s: %w; name an existing folder on the disk that has the store's log", dir, cause.Err)
	case !info.IsDir():
		return w, fmt.Errorf("%s is not a folder; name a folder on the disk that has the store's log", dir)
	}
	return w, nil
}

func (a *commandLine) checkDisk(ctx context.Context, f *diskFlags, dir string, counted bool) error {
	w, err := f.writes(dir, counted)
	if err != nil {
		return err
	}
	if err := command.CheckStore(f.store, a.Catalog); err != nil {
		return err
	}
	shown := a.newBar(f.format, float64(w.Records), " records")
	shown.local = true
	w.Progress = func(records int, elapsed time.Duration) {
		shown.show(runner.Progress{Stage: runner.Measuring, WindowElapsed: elapsed}, float64(records))
	}
	ctx, stop := command.Interruptible(ctx, func() {})
	defer stop()
	folder, err := command.ClaimFolder(dir, func(s string) { a.PrintNote("%s", s) })
	if err != nil {
		return fmt.Errorf("cannot check the disk: %w", err)
	}
	w.Dir = folder.Path()
	result, err := w.Run(ctx)
	shown.Clear()
	if err = errors.Join(err, folder.Release(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	if result.Interrupted {
		return &command.Exit{Code: command.ExitInterrupted, Cause: errors.New("interrupted; the file has been removed")}
	}
	c := limits.DiskCheck{
		Dir: dir, RecordBytes: w.RecordBytes, Records: result.Records, Seconds: result.Seconds,
		FileSystem: result.FileSystem, Durable: result.Durable, Sync: result.Sync, WriteAndSync: result.WriteAndSync,
	}
	for _, name := range a.Catalog.Stores() {
		if rule := a.Catalog.Capabilities(name).Disk; rule != nil {
			c.Judge(name, *rule)
		}
	}
	err = checkError(c.Pass(f.store), c.Unknown(f.store), a.Report(f.format, report.DiskCheck(&c)))
	if f.format == "text" {
		switch {
		case err == nil:
			a.SuggestNext("quorumbench check perf --endpoints HOST:PORT,... (checks whether the cluster is fast enough)")
		case isOnlyCode(err, command.ExitFailed):
			a.SuggestNext("quorumbench check disk DIR (checks another disk)")
		}
	}
	return err
}
