package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/kv"
)

type quorumbench struct{ binary, self string }

// NewQuorumbench returns ourselves: the program at the given path and, for
// watches, the generator in it alone, in a process of its own. self is the
// binary that calls LoopMain.
func NewQuorumbench(binary, self string) Peer { return quorumbench{binary, self} }

func (quorumbench) Name() string     { return Quorumbench }
func (quorumbench) Available() error { return nil }
func (quorumbench) Does(Case) bool   { return true }

func (q quorumbench) Run(ctx context.Context, w Work) (Figures, error) {
	switch {
	case w.Load != "":
		return q.check(ctx, w)
	case w.Kind == kv.Watch:
		return runLoop(ctx, q.self, Quorumbench, w.watchArguments(ourWatchCommand))
	}
	f := runProcess(ctx, q.binary, w.benchArguments()...)
	if ctx.Err() != nil {
		return Figures{}, ctx.Err()
	}
	// A verdict that is not valid is an exit code, and a result all the same.
	figures, err := parseTrial(f.stdout)
	if err != nil && f.err != nil {
		err = f.err
	}
	return figures, err
}

// benchArguments are those of `quorumbench bench`. The endpoint is the leader's,
// and any is the target that takes it as given, as the other peers do.
func (w Work) benchArguments() []string {
	space := w.ReadSpace
	if w.Kind == kv.Put {
		space = w.PutSpace
	}
	args := []string{
		"bench", w.Kind.String(), "--store", w.Store, "--endpoints", w.Endpoint, "--target", "any", "--format", "json",
		"--conns", strconv.Itoa(w.Connections), "--clients", strconv.Itoa(w.Clients),
		"--warmup", w.Warmup.String(), "--duration", w.Window.String(),
		"--prefix", space.Prefix, "--key-size", strconv.Itoa(space.Digits),
		"--key-space-size", strconv.Itoa(space.Keys), "--val-size", strconv.Itoa(w.ValueSize),
	}
	if w.Kind != kv.Put {
		args = append(args, "--consistency", w.Consistency.String())
	}
	if w.Rate > 0 {
		args = append(args, "--rate", strconv.FormatFloat(w.Rate, 'f', -1, 64))
	}
	return args
}

// times is what is needed of a result's times; nil was not supported.
type times struct {
	P50  *float64 `json:"p50"`
	P99  *float64 `json:"p99"`
	P999 *float64 `json:"p99_9"`
}

// trial is what is needed of what --format json prints (docs/formats.md).
type trial struct {
	Completed uint64   `json:"completed_in_window"`
	PerSecond float64  `json:"operations_per_second"`
	Errors    uint64   `json:"errors"`
	Misses    uint64   `json:"misses"`
	CPUPerOp  *float64 `json:"client_cpu_ns_per_operation"`
	MaxRSS    int64    `json:"client_max_rss_bytes"`
	Service   times    `json:"service_time_ns"`
	Lateness  *times   `json:"lateness_ns"`
	Verdict   struct {
		State   string   `json:"state"`
		Reasons []string `json:"reasons"`
	} `json:"verdict"`
}

func parseTrial(b []byte) (Figures, error) {
	if len(bytes.TrimSpace(b)) == 0 {
		return Figures{}, errors.New("quorumbench printed no result")
	}
	var t trial
	if err := json.Unmarshal(b, &t); err != nil {
		return Figures{}, fmt.Errorf("quorumbench printed something else than a result: %w", err)
	}
	switch {
	case t.Completed == 0 || t.CPUPerOp == nil:
		return Figures{}, errNothingDone
	case t.Errors+t.Misses > 0:
		return Figures{}, fmt.Errorf("%d operations failed and %d reads found no key", t.Errors, t.Misses)
	}
	f := Figures{
		Operations: t.Completed, PerSecond: t.PerSecond, CPUPerOp: *t.CPUPerOp,
		ServiceP50: value(t.Service.P50), MaxRSS: t.MaxRSS, Verdict: t.Verdict.State,
	}
	if l := t.Lateness; l != nil {
		f.LatenessP50, f.LatenessP99, f.LatenessP999 = value(l.P50), value(l.P99), value(l.P999)
	}
	for _, r := range t.Verdict.Reasons {
		f.Verdict += "; " + r
	}
	return f, nil
}

func value(p *float64) float64 {
	if p == nil {
		return 0
	}
	return *p
}
