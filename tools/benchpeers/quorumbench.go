package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// NewQuorumbench returns quorumbench as a peer, with the program at the path `binary`. For watches,
// the peer runs only quorumbench's generator, in a separate process. self is the path of the
// program that calls LoopMain.
func NewQuorumbench(binary, self string) Peer {
	return Peer{
		Name: Quorumbench, CanRun: func(Case) bool { return true },
		Run: func(ctx context.Context, w Work) (Figures, error) {
			switch {
			case w.Load != "":
				return runProgram(ctx, binary, w.checkArguments(), true, parseCheck)
			case w.Kind == kv.Watch:
				return runLoop(ctx, self, Quorumbench, ourWatchCommand, w)
			}
			return runProgram(ctx, binary, w.benchArguments(), true, parseTrial)
		},
	}
}

// benchArguments returns the arguments for `quorumbench bench`. The endpoint is the leader's. With
// `--target any`, quorumbench uses only the given endpoint, as the other peers do.
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

// times contains the percentiles that benchpeers uses from one group of times in a result. A field
// is nil if the result does not contain the percentile.
type times struct {
	P50  *float64 `json:"p50"`
	P99  *float64 `json:"p99"`
	P999 *float64 `json:"p99_9"`
}

// trial contains the fields that benchpeers uses from the output of --format json
// (docs/reference/files.md).
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
		State   string `json:"state"`
		Reasons []struct {
			Rule int    `json:"rule"`
			Text string `json:"text"`
		} `json:"reasons"`
	} `json:"verdict"`
}

func parseTrial(text string) (Figures, error) {
	var t trial
	if err := parseJSON(text, "quorumbench", &t); err != nil {
		return Figures{}, err
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
		f.Verdict += fmt.Sprintf("; R%d %s", r.Rule, r.Text)
	}
	return f, nil
}

func value(p *float64) float64 {
	if p == nil {
		return 0
	}
	return *p
}

// checkSpan is the time for which `etcdctl check perf` writes. This is also the default of
// quorumbench, which therefore needs --duration only for another duration.
const checkSpan = time.Minute

func (w Work) checkArguments() []string {
	args := []string{"check", "perf", "--store", w.Store, "--endpoints", w.Endpoint, "--load", w.Load, "--format", "json"}
	if w.Duration != checkSpan {
		args = append(args, "--duration", w.Duration.String())
	}
	return args
}

// perfResult contains the fields of the output of `check perf --format json` that benchpeers uses.
type perfResult struct {
	State      string  `json:"state"`
	Throughput float64 `json:"writes_per_second"`
	Seconds    float64 `json:"seconds"`
	Slowest    float64 `json:"slowest_seconds"`
	Stddev     float64 `json:"stddev_seconds"`
}

// parseCheck parses the result of quorumbench's check. Failed writes affect the verdict, but not
// the throughput.
func parseCheck(text string) (Figures, error) {
	var r perfResult
	if err := parseJSON(text, "quorumbench check perf", &r); err != nil {
		return Figures{}, err
	}
	done := uint64(r.Throughput*r.Seconds + 0.5)
	switch {
	case r.State != "pass" && r.State != "fail":
		return Figures{}, fmt.Errorf("quorumbench check perf ended in the state %q", r.State)
	case done == 0:
		return Figures{}, errNothingDone
	}
	check := &Check{Pass: r.State == "pass", Slowest: 1e9 * r.Slowest, Stddev: 1e9 * r.Stddev}
	return Figures{Operations: done, PerSecond: r.Throughput, Check: check}, nil
}

// parseJSON parses a JSON result from quorumbench.
func parseJSON(text, command string, into any) error {
	if strings.TrimSpace(text) == "" {
		return fmt.Errorf("%s printed no result", command)
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("%s printed something other than a result: %w", command, err)
	}
	return nil
}
