package peer

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
)

type h2load struct{}

// NewH2load returns nghttp2's load generator, which is written in C++.
func NewH2load() Peer { return h2load{} }

func (h2load) Name() string { return H2load }

func (h2load) Available() error {
	if _, err := find("h2load"); err != nil {
		return fmt.Errorf("%w; Debian and Ubuntu have it in the package nghttp2-client", err)
	}
	return nil
}

// H2loadVersion is how h2load calls itself, or the empty string.
func H2loadVersion() string {
	text, err := exec.Command("h2load", "--version").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// Does leaves puts out: h2load sends one body for ever.
func (h2load) Does(c Case) bool {
	return c.Store == etcd.Name && closed(c) && c.Kind == kv.Get && c.Consistency == kv.Local
}

func (h2load) Run(ctx context.Context, w Work) (Figures, error) {
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
	// Writing a line for each request costs, so only a run that is about times does.
	logFile := ""
	if w.Clients == 1 {
		logFile = filepath.Join(w.Dir, "h2load.log")
		args = append(args, "--log-file="+logFile)
		defer func() { _ = os.Remove(logFile) }()
	}
	f := runProcess(ctx, "h2load", append(args, "http://"+w.Endpoint+"/etcdserverpb.KV/Range")...)
	if f.err != nil {
		return Figures{}, f.err
	}
	figures, err := parseH2load(string(f.stdout), w.ValueSize)
	if err != nil {
		return figures, err
	}
	figures.CPUPerOp = float64(f.cpu) / float64(figures.Operations)
	if logFile != "" {
		figures.ServiceP50, err = medianOfLog(logFile)
	}
	return figures, err
}

// rangeBody is a gRPC message (length-prefixed, not compressed) that asks for
// one key.
func rangeBody(key string, level kv.Consistency) ([]byte, error) {
	message, err := proto.Marshal(&etcdserverpb.RangeRequest{Key: []byte(key), Serializable: level == kv.Local})
	if err != nil {
		return nil, err
	}
	n := len(message)
	return append([]byte{0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, message...), nil
}

var (
	h2Rate     = regexp.MustCompile(`finished in [^,]+, ([0-9.]+) req/s`)
	h2Requests = regexp.MustCompile(`requests: \d+ total, \d+ started, \d+ done, (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout`)
	h2Data     = regexp.MustCompile(`traffic: .* \((\d+)\) data`)
)

// parseH2load reads h2load's summary. valueSize is what each answer must at
// least have carried: gRPC fails with HTTP status 200.
func parseH2load(text string, valueSize int) (Figures, error) {
	rate, requests, data := h2Rate.FindStringSubmatch(text), h2Requests.FindStringSubmatch(text), h2Data.FindStringSubmatch(text)
	if rate == nil || requests == nil || data == nil {
		return Figures{}, fmt.Errorf("h2load printed no summary that is known here: %q", lastLine(text))
	}
	var n [5]uint64 // succeeded, failed, errored, timeout; bytes
	for i, s := range append(requests[1:], data[1]) {
		n[i], _ = strconv.ParseUint(s, 10, 64) // digits, by the pattern
	}
	perSecond, err := strconv.ParseFloat(rate[1], 64)
	switch {
	case err != nil:
		return Figures{}, fmt.Errorf("h2load's rate %q is not a number", rate[1])
	case n[0] == 0:
		return Figures{}, errNothingDone
	case n[1]+n[2]+n[3] > 0:
		return Figures{}, fmt.Errorf("%d of h2load's requests failed", n[1]+n[2]+n[3])
	case n[4]/n[0] < uint64(valueSize):
		return Figures{}, fmt.Errorf("the answers to h2load carried %d bytes each, less than the value's %d: they were errors", n[4]/n[0], valueSize)
	}
	return Figures{Operations: n[0], PerSecond: perSecond}, nil
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
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

// logTimes counts the third column of h2load's log: whole microseconds until
// the end of the response (h2load(1), --log-file).
func logTimes(r io.Reader) (map[int64]uint64, error) {
	counts := map[int64]uint64{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		columns := strings.Split(lines.Text(), "\t")
		if len(columns) < 3 {
			return nil, fmt.Errorf("h2load's log has the line %q in place of start, status and time", lines.Text())
		}
		us, err := strconv.ParseInt(columns[2], 10, 64)
		if err != nil || columns[1] != "200" {
			return nil, fmt.Errorf("h2load's log has the line %q, which is no success", lines.Text())
		}
		counts[us]++
	}
	return counts, lines.Err()
}
