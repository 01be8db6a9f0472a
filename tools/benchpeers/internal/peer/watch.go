package peer

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// The first arguments with which our binary watches, by either client.
const (
	clientV3WatchCommand = "client-v3-watch"
	ourWatchCommand      = "our-watch"
)

// watched is the work of a process that watches: watchers of one key on one
// connection, on which that key is put at a rate. Each put is an event for each
// watcher.
type watched struct {
	endpoint          string
	watchers, streams int
	warmup, puts      int
	rate              float64 // puts a second
	key               string
	valueSize         int
}

// The values that are put, and how long creating all watchers, or the events of
// the last put, may take.
const (
	watchValueSize = 32 // bytes
	watchPatience  = 15 * time.Second
)

// watchArguments are those of a process that watches. Warm-up and window are
// whole puts.
func (w Work) watchArguments(command string) []string {
	puts := func(d time.Duration) string { return strconv.Itoa(max(int(w.Rate*d.Seconds()), 1)) }
	return []string{
		command, "--endpoint", w.Endpoint, "--watchers", strconv.Itoa(w.Clients), "--streams", strconv.Itoa(w.Streams),
		"--warmup-puts", puts(w.Warmup), "--puts", puts(w.Window), "--rate", strconv.FormatFloat(w.Rate, 'f', -1, 64),
		"--val-size", strconv.Itoa(watchValueSize),
	}
}

// watchMain is the process. watch does the work.
func watchMain(ctx context.Context, watch func(context.Context, watched) (watchSeen, error), args []string, stdout io.Writer) error {
	w := watched{}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(os.Stderr)
	flags.StringVar(&w.endpoint, "endpoint", "", "HOST:PORT")
	flags.IntVar(&w.watchers, "watchers", 1, "in total")
	flags.IntVar(&w.streams, "streams", 1, "that they share")
	flags.IntVar(&w.warmup, "warmup-puts", 1, "before the window")
	flags.IntVar(&w.puts, "puts", 1, "measured")
	flags.Float64Var(&w.rate, "rate", 1, "puts a second")
	flags.StringVar(&w.key, "key", "e0000000", "put and watched")
	flags.IntVar(&w.valueSize, "val-size", watchValueSize, "bytes of a value")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch {
	case w.streams < 1 || w.watchers < w.streams || w.puts < 1 || w.warmup < 1:
		return errors.New("streams, puts and those of the warm-up must be above 0, and each stream needs a watcher")
	case !(w.rate > 0):
		return errors.New("the rate must be above 0")
	}
	seen, err := watch(ctx, w)
	if err != nil {
		return err
	}
	f, err := seen.figures(w)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(f)
}

// watchSeen is what the measured puts came to.
type watchSeen struct {
	puts, events uint64
	began, ended moment
}

// moment is when it is, and what the process has used.
type moment struct {
	at   time.Time
	used probe.SelfUsage
}

func now() moment { return moment{time.Now(), usage()} }

// figures are the work's, in which an event is the operation. Fewer events than
// the puts make, or more, are no result.
func (s watchSeen) figures(w watched) (Figures, error) {
	want := uint64(w.puts) * uint64(w.watchers)
	switch {
	case s.puts != uint64(w.puts):
		return Figures{}, fmt.Errorf("%d puts of %d succeeded", s.puts, w.puts)
	case s.events != want:
		return Figures{}, fmt.Errorf("%d watchers got %d events of %d puts, and not %d", w.watchers, s.events, w.puts, want)
	}
	took := s.ended.at.Sub(s.began.at).Seconds()
	return Figures{
		Operations: s.events, PerSecond: float64(s.events) / took, MaxRSS: s.ended.used.MaxRSS,
		CPUPerOp: 1e9 * s.ended.used.Sub(s.began.used).CPUSeconds() / float64(s.events),
	}, nil
}
