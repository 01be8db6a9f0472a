package peer

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
)

// EtcdBenchmarkEnv is the environment variable that names etcd's own
// `benchmark` program, which no distribution packages.
const EtcdBenchmarkEnv = "QUORUMBENCH_ETCD_BENCHMARK"

type etcdBenchmark struct{ binary string }

// NewEtcdBenchmark returns etcd's own benchmark; binary may be empty.
func NewEtcdBenchmark(binary string) Peer { return etcdBenchmark{binary} }

func (etcdBenchmark) Name() string { return EtcdBenchmark }

func (etcdBenchmark) Does(c Case) bool {
	return c.Store == etcd.Name && closed(c) && c.Clients > 1
}

func (e etcdBenchmark) Available() error {
	if e.binary == "" {
		return errors.New("set " + EtcdBenchmarkEnv + " to the binary of etcd's tools/benchmark to compare with it")
	}
	if _, err := find(e.binary); err != nil {
		return fmt.Errorf("%s names %s: %w", EtcdBenchmarkEnv, e.binary, err)
	}
	return nil
}

// What etcd's benchmark does in a second on a small machine: it has no
// duration, so that its total must be guessed.
const (
	guessedReads = 25_000
	guessedPuts  = 10_000
)

func (e etcdBenchmark) Run(ctx context.Context, w Work) (Figures, error) {
	total := w.benchmarkTotal()
	f := runProcess(ctx, e.binary, w.benchmarkArguments(total)...)
	if f.err != nil {
		return Figures{}, f.err
	}
	perSecond, err := parseBenchmark(string(f.stdout))
	if err != nil {
		return Figures{}, err
	}
	return Figures{Operations: total, PerSecond: perSecond, CPUPerOp: float64(f.cpu) / float64(total)}, nil
}

func (w Work) benchmarkTotal() uint64 {
	guess := guessedReads
	if w.Kind == kv.Put {
		guess = guessedPuts
	}
	return max(uint64(float64(guess)*(w.Warmup+w.Window).Seconds()), 1)
}

func (w Work) benchmarkArguments(total uint64) []string {
	args := []string{
		"--endpoints", w.Endpoint,
		"--conns", strconv.Itoa(w.Connections), "--clients", strconv.Itoa(w.Clients),
	}
	amount := strconv.FormatUint(total, 10)
	if w.Kind == kv.Put {
		return append(args, "put", "--total", amount, "--val-size", strconv.Itoa(w.ValueSize),
			"--key-size", strconv.Itoa(len(w.PutSpace.Prefix)+w.PutSpace.Digits), "--key-space-size", strconv.Itoa(w.PutSpace.Keys))
	}
	level := "l"
	if w.Consistency == kv.Local {
		level = "s"
	}
	return append(args, "range", w.Key, "--total", amount, "--consistency", level)
}

var (
	benchmarkRate   = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)
	benchmarkErrors = regexp.MustCompile(`Error distribution`)
)

func parseBenchmark(text string) (perSecond float64, err error) {
	m := benchmarkRate.FindStringSubmatch(text)
	if m == nil {
		return 0, errors.New("etcd's benchmark printed no summary that is known here")
	}
	if benchmarkErrors.MatchString(text) {
		return 0, errors.New("operations of etcd's benchmark failed")
	}
	if perSecond, err = strconv.ParseFloat(m[1], 64); err != nil || perSecond <= 0 {
		return 0, errNothingDone
	}
	return perSecond, nil
}
