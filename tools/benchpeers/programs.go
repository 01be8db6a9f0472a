package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store/consul"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/etcdv2"
)

// find matches all patterns against a program's output and returns the text of their groups. If a
// pattern does not match, find returns an error that begins with the parameter `problem`.
func find(problem, text string, patterns ...*regexp.Regexp) (groups [][]string, err error) {
	for _, p := range patterns {
		m := p.FindStringSubmatch(text)
		if m == nil {
			text = strings.TrimSpace(text)
			return nil, fmt.Errorf("%s in a known format: %q", problem, text[strings.LastIndexByte(text, '\n')+1:])
		}
		groups = append(groups, m[1:])
	}
	return groups, nil
}

// number parses the decimal digits that a pattern has matched.
func number(digits string) float64 {
	v, _ := strconv.ParseFloat(digits, 64)
	return v
}

// seconds returns the total run time for a program that has no warm-up.
func (w Work) seconds() time.Duration { return w.Warmup + w.Window }

// LocalRead returns the request target (path and query) of the GET request for a local read of a
// key. The target is identical to the one that quorumbench sends. ok is false if the store does not
// use HTTP/1.1.
func LocalRead(store, key string) (target string, ok bool) {
	switch store {
	case consul.Name:
		return "/v1/kv/" + key + "?raw&stale", true
	case etcdv2.Name:
		return "/v2/keys/" + key, true
	}
	return "", false
}

// doesLocalReads reports whether an HTTP/1.1 generator can run a case. It can if all requests are
// identical local reads, with one request in flight on each connection.
func doesLocalReads(c Case) bool {
	_, ok := LocalRead(c.Store, "")
	return ok && closedLoop(c) && c.Kind == kv.Get && c.Consistency == kv.Local && c.Clients == c.Connections
}

// url returns the URL that HTTP/1.1 generators request.
func (w Work) url() string {
	target, _ := LocalRead(w.Store, w.Key)
	return "http://" + w.Endpoint + target
}

// NewWrk returns wrk, which is written in C.
func NewWrk() Peer {
	return Peer{
		Name: Wrk, Unavailable: checkInstalled("wrk", "wrk"), CanRun: doesLocalReads,
		Version: func() string {
			// The error is ignored, because wrk --version always exits with status 1.
			text, _ := exec.Command("wrk", "--version").Output()
			version, _, _ := strings.Cut(string(text), " [")
			return strings.TrimSpace(version)
		},
		Run: func(ctx context.Context, w Work) (Figures, error) {
			return runProgram(ctx, "wrk", w.wrkArguments(), false, func(text string) (Figures, error) { return parseWrk(text, w.ValueSize) })
		},
	}
}

// wrkArguments returns wrk's arguments. They select a single thread, with which wrk uses the least
// CPU time.
func (w Work) wrkArguments() []string {
	return []string{
		"-t", "1", "-c", strconv.Itoa(w.Connections), "--timeout", "10s",
		"-d", strconv.Itoa(max(int(w.seconds().Seconds()), 1)), w.url(),
	}
}

var (
	wrkRequests = regexp.MustCompile(`(\d+) requests in [^,]+, (\d+(?:\.\d+)?)([KMGT]?)B read`)
	wrkRefused  = regexp.MustCompile(`Non-2xx or 3xx responses: (\d+)`)
	wrkErrors   = regexp.MustCompile(`Socket errors: (.*)`)
)

// httpRate matches the rate in the output of wrk, hey and etcd's benchmark. (etcd's benchmark is
// derived from hey.)
var httpRate = regexp.MustCompile(`Requests/sec:\s+(\d+(?:\.\d+)?)`)

// parseWrk parses wrk's summary. valueSize is the minimum size of each response.
func parseWrk(text string, valueSize int) (Figures, error) {
	found, err := find("wrk printed no summary", text, wrkRequests, httpRate)
	if err != nil {
		return Figures{}, err
	}
	done := number(found[0][0])
	if done == 0 {
		return Figures{}, errNothingDone
	}
	if m := wrkErrors.FindStringSubmatch(text); m != nil {
		return Figures{}, fmt.Errorf("requests of wrk failed: %s", m[1])
	}
	if m := wrkRefused.FindStringSubmatch(text); m != nil {
		return Figures{}, fmt.Errorf("%s of wrk's requests were answered with an error status", m[1])
	}
	if each := number(found[0][1]) * binaryUnit(found[0][2]) / done; each < float64(valueSize) {
		return Figures{}, fmt.Errorf("the responses to wrk had %.0f bytes each, but the value has %d bytes", each, valueSize)
	}
	return Figures{Operations: uint64(done), PerSecond: number(found[1][0])}, nil
}

// binaryUnit returns the factor for the letter of a unit: a power of 1024.
func binaryUnit(letter string) float64 {
	unit := 1.0
	for i := strings.Index("KMGT", letter); letter != "" && i >= 0; i-- {
		unit *= 1024
	}
	return unit
}

// NewHey returns hey, which is written in Go with net/http.
func NewHey() Peer {
	return Peer{
		Name: Hey, Unavailable: checkInstalled("hey", "hey"), CanRun: doesLocalReads,
		Run: func(ctx context.Context, w Work) (Figures, error) {
			return runProgram(ctx, "hey", w.heyArguments(), false, func(text string) (Figures, error) { return parseHey(text, w.ValueSize) })
		},
	}
}

// heyArguments returns hey's arguments. They disable the header field that requests compressed
// responses, because no other peer sends this field.
func (w Work) heyArguments() []string {
	return []string{"-c", strconv.Itoa(w.Connections), "-z", w.seconds().String(), "-disable-compression", w.url()}
}

var (
	heySize   = regexp.MustCompile(`Size/request:\s+(\d+) bytes`)
	heyStatus = regexp.MustCompile(`\[(\d+)\]\s+(\d+) responses`)
	heyErrors = regexp.MustCompile(`(?s)Error distribution:\s+\[\d+\]\s+([^\n]*)`)
)

// maxHeyResponses is the maximum number of responses whose status hey counts.
const maxHeyResponses = 1_000_000

// parseHey parses hey's summary. valueSize is the minimum size of each response.
func parseHey(text string, valueSize int) (Figures, error) {
	if m := heyErrors.FindStringSubmatch(text); m != nil {
		return Figures{}, fmt.Errorf("requests of hey failed: %s", m[1])
	}
	rate, err := find("hey printed no summary", text, httpRate)
	if err != nil {
		return Figures{}, err
	}
	var done float64
	for _, m := range heyStatus.FindAllStringSubmatch(text, -1) {
		if m[1] != "200" {
			return Figures{}, fmt.Errorf("%s of hey's requests were answered with status %s", m[2], m[1])
		}
		done = number(m[2])
	}
	size := heySize.FindStringSubmatch(text)
	switch {
	case done == 0:
		return Figures{}, errNothingDone
	case done >= maxHeyResponses:
		return Figures{}, errors.New("hey counts at most a million requests; decrease --seconds")
	case size == nil:
		return Figures{}, errors.New("hey does not report the size of responses")
	case number(size[1]) < float64(valueSize):
		return Figures{}, fmt.Errorf("the responses to hey had %s bytes each, but the value has %d bytes", size[1], valueSize)
	}
	return Figures{Operations: uint64(done), PerSecond: number(rate[0][0])}, nil
}

// EtcdBenchmarkEnv is the environment variable with the path of etcd's own `benchmark` program. No
// distribution packages it.
const EtcdBenchmarkEnv = "QUORUMBENCH_ETCD_BENCHMARK"

// NewEtcdBenchmark returns etcd's own benchmark. binary is its path, or empty if it is not
// available.
func NewEtcdBenchmark(binary string) Peer {
	p := Peer{
		Name:   EtcdBenchmark,
		CanRun: func(c Case) bool { return c.Store == etcd.Name && closedLoop(c) && c.Clients > 1 },
		Run: func(ctx context.Context, w Work) (Figures, error) {
			total := w.benchmarkTotal()
			return runProgram(ctx, binary, w.benchmarkArguments(total), false, func(text string) (Figures, error) {
				perSecond, err := parseBenchmark(text)
				return Figures{Operations: total, PerSecond: perSecond}, err
			})
		},
	}
	if binary == "" {
		p.Unavailable = errors.New("set " + EtcdBenchmarkEnv + " to the path of the binary of etcd's tools/benchmark to include it in the comparison")
	} else if _, err := exec.LookPath(binary); err != nil {
		p.Unavailable = fmt.Errorf("%s names %s: %w", EtcdBenchmarkEnv, binary, err)
	}
	return p
}

// The throughput of etcd's benchmark on a small machine, in operations per second. The benchmark
// stops after a given number of operations, not after a given duration, so these rates are used to
// estimate the number of operations for a duration.
const (
	guessedReads = 25_000
	guessedPuts  = 10_000
)

func (w Work) benchmarkTotal() uint64 {
	guess := guessedReads
	if w.Kind == kv.Put {
		guess = guessedPuts
	}
	return max(uint64(float64(guess)*w.seconds().Seconds()), 1)
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

func parseBenchmark(text string) (perSecond float64, err error) {
	found, err := find("etcd's benchmark printed no summary", text, httpRate)
	if err != nil {
		return 0, err
	}
	if strings.Contains(text, "Error distribution") {
		return 0, errors.New("operations of etcd's benchmark failed")
	}
	if perSecond = number(found[0][0]); perSecond == 0 {
		return 0, errNothingDone
	}
	return perSecond, nil
}
