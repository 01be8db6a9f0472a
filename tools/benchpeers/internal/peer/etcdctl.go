package peer

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

type etcdctl struct {
	binary string
	err    error
}

// NewEtcdctl returns `etcdctl check perf` of the binary at the given path; err
// is why there is none.
func NewEtcdctl(binary string, err error) Peer { return etcdctl{binary, err} }

func (etcdctl) Name() string { return Etcdctl }

func (e etcdctl) Available() error { return e.err }

// Does leaves null servers out: etcdctl cannot be made to take less than a
// minute, and what its limiter does to a pace shows on a real member as well.
func (etcdctl) Does(c Case) bool { return c.Load != "" && c.Tmpfs }

func (e etcdctl) Run(ctx context.Context, w Work) (Figures, error) {
	f := runProcess(ctx, e.binary, "--endpoints", w.Endpoint, "check", "perf", "--load", w.Load)
	if ctx.Err() != nil {
		return Figures{}, ctx.Err()
	}
	// A check that fails is an exit code, and a result all the same.
	figures, err := parseEtcdctl(string(f.stdout), w.Rate)
	switch {
	case err != nil && f.err != nil:
		return Figures{}, f.err
	case err != nil:
		return Figures{}, err
	}
	// It reports a rate, and no number of writes.
	figures.Operations = uint64(figures.PerSecond * checkSpan.Seconds())
	if figures.Operations == 0 {
		return Figures{}, errNothingDone
	}
	figures.CPUPerOp = float64(f.cpu) / float64(figures.Operations)
	return figures, nil
}

// The lines of a check. It writes "PASS: " before those that hold, and "FAIL: "
// before some of those that do not. The throughput is the rate cut to a whole
// number, plus one.
var (
	checkThroughput = regexp.MustCompile(`(?m)^(?:PASS: Throughput is|FAIL: Throughput too low:) (\d+) writes/s\s*$`)
	checkSlowest    = regexp.MustCompile(`(?m)^(?:PASS: Slowest request took|Slowest request took too long:) ([0-9.]+)s\s*$`)
	checkStddev     = regexp.MustCompile(`(?m)^(?:PASS: Stddev is|Stddev too high:) ([0-9.]+)s\s*$`)
	checkVerdict    = regexp.MustCompile(`(?m)^(PASS|FAIL)\s*$`)
)

// parseEtcdctl reads the lines of `etcdctl check perf`.
func parseEtcdctl(text string, rate float64) (Figures, error) {
	throughput, slowest := checkThroughput.FindStringSubmatch(text), checkSlowest.FindStringSubmatch(text)
	stddev, verdict := checkStddev.FindStringSubmatch(text), checkVerdict.FindStringSubmatch(text)
	if throughput == nil || slowest == nil || stddev == nil || verdict == nil {
		return Figures{}, fmt.Errorf("etcdctl printed no verdict that is known here: %q", lastLine(text))
	}
	var n [3]float64
	for i, digits := range []string{throughput[1], slowest[1], stddev[1]} {
		var err error
		if n[i], err = strconv.ParseFloat(digits, 64); err != nil {
			return Figures{}, fmt.Errorf("etcdctl's figure %q is not a number", digits)
		}
	}
	perSecond := n[0] - 1
	switch {
	case perSecond <= 0:
		return Figures{}, errNothingDone
	case perSecond > 2*rate:
		return Figures{}, errors.New("etcdctl tells more than twice the rate that its load has: it checked something else")
	}
	return Figures{
		PerSecond: perSecond,
		Check:     &Check{Pass: verdict[1] == "PASS", Slowest: 1e9 * n[1], Stddev: 1e9 * n[2]},
	}, nil
}

// EtcdctlLabel is how etcdctl is called among the conditions.
func EtcdctlLabel() string { return Etcdctl + " " + etcdctlVersion }
