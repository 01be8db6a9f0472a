package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
)

// NewH2load returns nghttp2's load generator, which is written in C++. The peer omits puts, because
// h2load sends the same body in every request.
func NewH2load() Peer {
	return Peer{
		Name: H2load, Unavailable: checkInstalled("h2load", "nghttp2-client"), Run: runH2load,
		CanRun: func(c Case) bool {
			return c.Store == etcd.Name && closedLoop(c) && c.Kind == kv.Get && c.Consistency == kv.Local
		},
		Version: func() string {
			text, _ := exec.Command("h2load", "--version").Output() // empty if h2load is not installed
			return strings.TrimSpace(string(text))
		},
	}
}

func runH2load(ctx context.Context, w Work) (Figures, error) {
	body, err := rangeBody(w.Key, w.Consistency)
	if err != nil {
		return Figures{}, err
	}
	bodyFile := filepath.Join(w.Dir, "range.body")
	if err := os.WriteFile(bodyFile, body, 0o600); err != nil {
		return Figures{}, err
	}
	args := []string{
		"-D", strconv.Itoa(max(int((w.Warmup + w.Window).Seconds()), 1)),
		"-c", strconv.Itoa(w.Connections), "-m", strconv.Itoa(w.Clients / w.Connections),
		"-d", bodyFile, "-H", "content-type: application/grpc", "-H", "te: trailers",
	}
	// Writing a log line for each request is expensive, so h2load writes a log only if the case
	// needs service times.
	logFile := ""
	if w.Clients == 1 {
		logFile = filepath.Join(w.Dir, "h2load.log")
		args = append(args, "--log-file="+logFile)
		defer func() { _ = os.Remove(logFile) }()
	}
	args = append(args, "http://"+w.Endpoint+"/etcdserverpb.KV/Range")
	figures, err := runProgram(ctx, "h2load", args, false, func(text string) (Figures, error) { return parseH2load(text, w.ValueSize) })
	if err == nil && logFile != "" {
		figures.ServiceP50, err = medianOfLog(logFile)
	}
	return figures, err
}

// rangeBody returns the uncompressed gRPC message, with its length prefix, that requests one key.
func rangeBody(key string, level kv.Consistency) ([]byte, error) {
	message, err := proto.Marshal(&etcdserverpb.RangeRequest{Key: []byte(key), Serializable: level == kv.Local})
	if err != nil {
		return nil, err
	}
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...), nil
}

var (
	h2Rate     = regexp.MustCompile(`finished in [^,]+, (\d+(?:\.\d+)?) req/s`)
	h2Requests = regexp.MustCompile(`requests: \d+ total, \d+ started, \d+ done, (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout`)
	h2Data     = regexp.MustCompile(`traffic: .* \((\d+)\) data`)
)

// parseH2load parses h2load's summary. valueSize is the minimum size of each response. A smaller
// response is an error, because gRPC reports errors with HTTP status 200.
func parseH2load(text string, valueSize int) (Figures, error) {
	found, err := find("h2load printed no summary", text, h2Rate, h2Requests, h2Data)
	if err != nil {
		return Figures{}, err
	}
	var n [5]uint64 // numbers of requests that succeeded, failed, errored and timed out; size in bytes
	for i, digits := range append(found[1], found[2]...) {
		n[i] = uint64(number(digits))
	}
	switch {
	case n[0] == 0:
		return Figures{}, errNothingDone
	case n[1]+n[2]+n[3] > 0:
		return Figures{}, fmt.Errorf("%d of h2load's requests failed", n[1]+n[2]+n[3])
	case n[4]/n[0] < uint64(valueSize):
		return Figures{}, fmt.Errorf("the responses to h2load had %d bytes each, but the value has %d bytes, so the responses were errors", n[4]/n[0], valueSize)
	}
	return Figures{Operations: n[0], PerSecond: number(found[0][0])}, nil
}

func medianOfLog(path string) (float64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	counts, err := logTimes(f)
	if err != nil {
		return 0, err
	}
	return groupedMedian(counts) * 1000, nil
}

// logTimes counts how often each value occurs in the third column of h2load's log. This column
// contains the time until the end of the response, in whole microseconds (h2load(1), --log-file).
func logTimes(r io.Reader) (map[int64]uint64, error) {
	counts := map[int64]uint64{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		columns := strings.Split(lines.Text(), "\t")
		if len(columns) < 3 {
			return nil, fmt.Errorf("h2load's log has the line %q, which does not contain a start, a status and a time", lines.Text())
		}
		us, err := strconv.ParseInt(columns[2], 10, 64)
		if err != nil || columns[1] != "200" {
			return nil, fmt.Errorf("h2load's log has the line %q, which does not report a success", lines.Text())
		}
		counts[us]++
	}
	return counts, lines.Err()
}

// groupedMedian returns the median of values that were truncated to whole numbers. It assumes that
// the original values with the same whole number v were evenly distributed over [v, v+1), and
// interpolates within the interval that contains the median. Without values, it returns 0.
func groupedMedian(counts map[int64]uint64) float64 {
	var total, below uint64
	for _, n := range counts {
		total += n
	}
	for _, v := range slices.Sorted(maps.Keys(counts)) {
		n := counts[v]
		if 2*(below+n) >= total {
			return float64(v) + (float64(total)/2-float64(below))/float64(n)
		}
		below += n
	}
	return 0
}
