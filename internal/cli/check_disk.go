package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/run/check"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// diskFlags are those of `check disk`.
type diskFlags struct {
	store    string
	record   int
	size     int
	records  int
	duration time.Duration
	format   string
}

// maxDiskSize bounds what one check writes, in bytes.
const maxDiskSize = 1 << 40

func (a *app) checkDiskCommand() *cobra.Command {
	f := &diskFlags{store: "etcd", record: check.DiskRecord, size: check.DiskSize, duration: check.DiskDuration, format: "text"}
	c := &cobra.Command{
		Use: "disk DIR", Short: "Check whether a disk is fast enough for a store's log", Args: command.Takes(1, 1, "DIR, the folder to write in"),
		Long: `Check whether a disk is fast enough for a store's write-ahead log: records of 2,300
bytes are written one after the other, each followed by fdatasync, as in the
measurement that etcd's documentation makes with fio. The file is removed.

The exit code is 1 when the rule of the store that --store names does not hold:
for etcd a p99 of fdatasync below 10 ms.`,
	}
	r := command.NewFlags(c.Flags())
	r.Text("store", &f.store, "NAME", "the store whose rule decides the exit code")
	r.Size("record-size", &f.record, "bytes of one record")
	r.Size("size", &f.size, "bytes to write in all")
	r.Whole("records", &f.records, "records to write, instead of a size")
	r.Span("duration", &f.duration, "at most so long")
	r.Choice("format", &f.format, "of the result on standard output", "text", "json")
	c.RunE = func(c *cobra.Command, args []string) error {
		if command.Given(c.Flags(), "size") && command.Given(c.Flags(), "records") {
			return command.Usage("--size and --records both say how much; give one of them")
		}
		return a.checkDisk(c.Context(), f, args[0], command.Given(c.Flags(), "records"))
	}
	return c
}

// writes checks the flags.
func (f *diskFlags) writes(dir string, counted bool) (w probe.LogWrites, err error) {
	switch {
	case f.record < 1 || f.record > scenario.MaxValueSize:
		return w, command.Usage("--record-size must be from 1 to %s, not %d", scenario.FormatSize(scenario.MaxValueSize), f.record)
	case counted && f.records < 1:
		return w, command.Usage("--records must be at least 1, not %d", f.records)
	case !counted && f.size < f.record:
		return w, command.Usage("--size must be at least one record of %s, not %s", scenario.FormatSize(f.record), scenario.FormatSize(max(f.size, 0)))
	case f.duration <= 0 || f.duration > scenario.MaxDuration:
		return w, command.Usage("--duration must be above 0 and at most %v, not %v", scenario.MaxDuration, f.duration)
	}
	w = probe.LogWrites{Dir: dir, Record: f.record, Records: f.records, Duration: f.duration}
	if !counted {
		w.Records = f.size / f.record
	}
	if int64(w.Records) > maxDiskSize/int64(w.Record) {
		return w, command.Usage("%d records of %s are more than 1 TiB", w.Records, scenario.FormatSize(w.Record))
	}
	info, err := os.Stat(dir)
	var cause *os.PathError
	switch {
	case errors.As(err, &cause):
		return w, fmt.Errorf("there is no folder %s to write in: %w", dir, cause.Err)
	case !info.IsDir():
		return w, fmt.Errorf("%s is no folder; name the one that the store's log is to be in", dir)
	}
	return w, nil
}

func (a *app) checkDisk(ctx context.Context, f *diskFlags, dir string, counted bool) error {
	w, err := f.writes(dir, counted)
	if err != nil {
		return err
	}
	if err := a.knownStore(f.store); err != nil {
		return err
	}
	shown := a.newBar(f.format, float64(w.Records), " records")
	if shown != nil {
		shown.local = true
	}
	w.Watch = func(records int, elapsed time.Duration) {
		shown.show(check.Progress{Stage: check.Measuring, Elapsed: elapsed}, float64(records))
	}
	ctx, stop := command.Interruptible(ctx, func() {})
	defer stop()
	result, err := w.Run(ctx)
	shown.clear()
	if err != nil {
		return err
	}
	if result.Interrupted {
		return &command.Exit{Code: command.ExitInterrupted, Cause: errors.New("interrupted; the file has been removed")}
	}
	opinions, decides := a.opinions(f.store, result)
	if f.format == "json" {
		if err := a.JSON(diskFields(&w, result, opinions)); err != nil {
			return err
		}
	} else {
		a.printDisk(&w, result, opinions)
	}
	if !decides {
		return &command.Exit{Code: command.ExitFailed}
	}
	return nil
}

// knownStore returns a sentence when there is no such store.
func (a *app) knownStore(name string) error {
	f := command.AttachFlags{Store: name}
	return f.CheckStore(nil, a.Catalog)
}

// opinions is what each store makes of the disk, and whether the named one's
// rule holds.
func (a *app) opinions(name string, r probe.LogResult) (list []check.DiskOpinion, holds bool) {
	for _, n := range a.Catalog.Stores() {
		st, err := a.Lookup(n)
		if err != nil {
			continue // the catalog's stores are there
		}
		o, ok := check.Opine(st, r)
		if !ok {
			continue
		}
		list = append(list, o)
		if n == name {
			holds = o.Pass
		}
	}
	return list, holds
}

func (a *app) printDisk(w *probe.LogWrites, r probe.LogResult, opinions []check.DiskOpinion) {
	a.Printf("%s: %s records of %s, each made durable before the next, in %s: %s\n", w.Dir, readable.Count(uint64(r.Records)),
		scenario.FormatSize(w.Record), readable.Duration(1e9*r.Seconds), readable.PerSecond(rate(r)))
	a.Printf("File system: %s\n", r.FileSystem)
	if !r.Durable {
		a.Printf("It is not durable: what is written is lost at power loss, and fdatasync does nothing, so no disk was measured.\n")
	}
	for _, line := range []struct {
		name string
		of   measure.Summary
	}{{"fdatasync", r.Sync}, {"write + fdatasync", r.Whole}} {
		a.Printf("%s: p50 %s, p99 %s, p99.9 %s, longest %s\n", line.name, figureText(line.of.At(50)), figureText(line.of.At(99)),
			figureText(line.of.At(99.9)), figureText(line.of.Max))
	}
	for _, o := range grouped(opinions) {
		word := "PASS"
		if !o.Pass {
			word = "FAIL"
		}
		a.Printf("%s: %s: %s\n", word, o.Store, o.Text)
	}
}

// grouped puts the stores together that are of one opinion, because they are
// one server below.
func grouped(list []check.DiskOpinion) (out []check.DiskOpinion) {
	for _, o := range list {
		at := slices.IndexFunc(out, func(g check.DiskOpinion) bool { return g.Text == o.Text })
		if at < 0 {
			out = append(out, o)
			continue
		}
		out[at].Store += ", " + o.Store
	}
	return out
}

// rate is records a second.
func rate(r probe.LogResult) float64 {
	if r.Seconds <= 0 {
		return 0
	}
	return float64(r.Records) / r.Seconds
}

// diskJSON is what --format json prints.
type diskJSON struct {
	Check      string             `json:"check"`
	Dir        string             `json:"dir"`
	RecordSize int                `json:"record_bytes"`
	Records    int                `json:"records"`
	Seconds    float64            `json:"seconds"`
	Rate       float64            `json:"records_per_second"`
	FileSystem string             `json:"file_system"`
	Durable    bool               `json:"durable"`
	Sync       map[string]float64 `json:"fdatasync_seconds"`
	Whole      map[string]float64 `json:"write_and_fdatasync_seconds"`
	Stores     []opinionJSON      `json:"stores"`
}

type opinionJSON struct {
	Store  string   `json:"store"`
	Pass   bool     `json:"pass"`
	Known  bool     `json:"known"`
	Figure *float64 `json:"seconds"` // null: not known
	Limit  float64  `json:"limit_seconds"`
	Text   string   `json:"text"`
}

func diskFields(w *probe.LogWrites, r probe.LogResult, opinions []check.DiskOpinion) diskJSON {
	j := diskJSON{
		Check: "disk", Dir: w.Dir, RecordSize: w.Record, Records: r.Records, Seconds: r.Seconds, Rate: math.Round(10*rate(r)) / 10,
		FileSystem: r.FileSystem, Durable: r.Durable, Sync: withMax(r.Sync), Whole: withMax(r.Whole),
	}
	for _, o := range opinions {
		one := opinionJSON{o.Store, o.Pass, o.Known, nil, o.Rule.Limit.Seconds(), o.Text}
		if o.Known {
			one.Figure = &o.Figure
		}
		j.Stores = append(j.Stores, one)
	}
	return j
}

func withMax(s measure.Summary) map[string]float64 {
	out := percentileFields(s.Percentiles[:])
	if s.Max.Known {
		out["max"] = s.Max.NS / 1e9
	}
	return out
}
