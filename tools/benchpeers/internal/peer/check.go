package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/readable"
)

// Check is what a `check perf` said of itself.
type Check struct {
	Pass    bool    `json:"pass"`
	Slowest float64 `json:"slowest_ns"` // write, in nanoseconds
	Stddev  float64 `json:"stddev_ns"`  // in nanoseconds
}

// Verdict is PASS or FAIL.
func (c Check) Verdict() string {
	if c.Pass {
		return "PASS"
	}
	return "FAIL"
}

// String returns it on one line.
func (c Check) String() string {
	return fmt.Sprintf("slowest %s, stddev %s: %s", readable.Duration(c.Slowest), readable.Duration(c.Stddev), c.Verdict())
}

// checkSpan is how long a check perf of the original writes; ours is given a
// duration only where it differs.
const checkSpan = time.Minute

// check runs `quorumbench check perf`.
func (q quorumbench) check(ctx context.Context, w Work) (Figures, error) {
	f := runProcess(ctx, q.binary, w.checkArguments()...)
	if ctx.Err() != nil {
		return Figures{}, ctx.Err()
	}
	// A check that fails is an exit code, and a result all the same.
	figures, err := parseCheck(f.stdout)
	switch {
	case err != nil && f.err != nil:
		return Figures{}, f.err
	case err != nil:
		return Figures{}, err
	}
	figures.CPUPerOp = float64(f.cpu) / float64(figures.Operations)
	return figures, nil
}

func (w Work) checkArguments() []string {
	args := []string{"check", "perf", "--store", w.Store, "--endpoints", w.Endpoint, "--load", w.Load, "--format", "json"}
	if w.Takes != checkSpan {
		args = append(args, "--duration", w.Takes.String())
	}
	return args
}

// perfResult is what is needed of what `check perf --format json` prints.
type perfResult struct {
	State      string  `json:"state"`
	Throughput float64 `json:"writes_per_second"`
	Seconds    float64 `json:"seconds"`
	Slowest    float64 `json:"slowest_seconds"`
	Stddev     float64 `json:"stddev_seconds"`
}

// parseCheck reads the result of our check. Writes that failed are part of its
// verdict and not of its throughput.
func parseCheck(b []byte) (Figures, error) {
	if len(bytes.TrimSpace(b)) == 0 {
		return Figures{}, errors.New("quorumbench check perf printed no result")
	}
	var r perfResult
	if err := json.Unmarshal(b, &r); err != nil {
		return Figures{}, fmt.Errorf("quorumbench check perf printed something else than a result: %w", err)
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
