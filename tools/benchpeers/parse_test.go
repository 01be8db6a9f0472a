package main

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// summary is the summary that h2load prints at its end.
const summary = `Application protocol: h2c
finished in 3.01s, 41232.50 req/s, 13.61MB/s
requests: 123696 total, 124696 started, 123696 done, 123696 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 123696 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 40.82MB (42807598) total, 242.77KB (248592) headers (space savings 94.71%), 36.81MB (38593152) data
                     min         max         mean         sd        +/- sd
time for request:      104us     80.76ms     23.78ms     12.45ms    71.30%
`

func TestParseH2load(t *testing.T) {
	f, err := parseH2load(summary, 256)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Figures{Operations: 123696, PerSecond: 41232.5}, f); d != "" {
		t.Error(d)
	}
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "no summary"},
		{"not connected", "starting benchmark...\nunable to connect", "unable to connect"},
		{"failures", strings.Replace(summary, "0 errored", "7 errored", 1), "7 of h2load's requests failed"},
		{"gRPC errors have HTTP status 200", strings.Replace(summary, "(38593152) data", "(1236960) data", 1), "10 bytes each"},
		{"nothing done", strings.Replace(summary, "123696 succeeded", "0 succeeded", 1), "no operation was completed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := parseH2load(c.text, 256); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestLogTimes(t *testing.T) {
	counts, err := logTimes(strings.NewReader("1795200066570668\t200\t447\n1795200066571140\t200\t229\n1795200066571376\t200\t229\tmore\n"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[int64]uint64{447: 1, 229: 2}, counts); d != "" {
		t.Error(d)
	}
	for _, bad := range []string{"1\t200\n", "1\t-1\t50\n", "1\t200\tfast\n"} {
		if _, err := logTimes(strings.NewReader(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestGroupedMedian(t *testing.T) {
	for _, c := range []struct {
		name   string
		counts map[int64]uint64
		want   float64
	}{
		{"nothing", nil, 0},
		{"all alike: the middle of the microsecond", map[int64]uint64{80: 1000}, 80.5},
		{"a quarter below, three quarters in it", map[int64]uint64{79: 1, 80: 3}, 80 + 1.0/3},
		{"on the edge", map[int64]uint64{79: 2, 80: 2}, 80},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := groupedMedian(c.counts); math.Abs(got-c.want) > 1e-9 {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// groupedMedian must recover the median of evenly distributed times from times that were truncated
// to whole microseconds.
func TestGroupedMedianUndoesTruncation(t *testing.T) {
	counts := map[int64]uint64{}
	for i := range 10_000 {
		counts[int64(70+float64(i)/1000)]++ // values from 70 to 80
	}
	if got := groupedMedian(counts); math.Abs(got-75) > 0.001 {
		t.Errorf("got %v, want 75", got)
	}
}

func TestRangeBodyIsAMessageOfTheOfficialClient(t *testing.T) {
	b, err := rangeBody("r0000000", kv.Local)
	if err != nil {
		t.Fatal(err)
	}
	if b[0] != 0 || int(binary.BigEndian.Uint32(b[1:])) != len(b)-5 {
		t.Fatalf("the prefix of a message is % x, but the message has %d bytes", b[:5], len(b))
	}
	var got etcdserverpb.RangeRequest
	if err := proto.Unmarshal(b[5:], &got); err != nil {
		t.Fatal(err)
	}
	if string(got.Key) != "r0000000" || !got.Serializable || len(got.RangeEnd) > 0 {
		t.Errorf("got %v", &got)
	}
}

func TestParseBenchmark(t *testing.T) {
	const text = "Summary:\n  Total:\t1.0 secs.\n  Average:\t0.0 secs.\n  Requests/sec:\t29038.7315\n"
	if got, err := parseBenchmark(text); err != nil || got != 29038.7315 {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"", text + "\nError distribution:\n  [3]\ttimeout\n", strings.Replace(text, "29038.7315", "0.0000", 1)} {
		if _, err := parseBenchmark(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

const result = `{
  "completed_in_window": 60003, "operations_per_second": 20001, "errors": 0, "misses": 0,
  "client_cpu_ns_per_operation": 2236, "client_max_rss_bytes": 34852864,
  "service_time_ns": {"p50": 73400, "p99": 90000, "p99_9": null},
  "lateness_ns": {"p50": 28900, "p99": 210000, "p99_9": 926000},
  "verdict": {"state": "suspect", "reasons": [{"rule": 7, "text": "the generator waited"}], "notes": []}
}`

func TestParseTrial(t *testing.T) {
	f, err := parseTrial(result)
	if err != nil {
		t.Fatal(err)
	}
	want := Figures{
		Operations: 60003, PerSecond: 20001, CPUPerOp: 2236, ServiceP50: 73400, MaxRSS: 34852864,
		LatenessP50: 28900, LatenessP99: 210000, LatenessP999: 926000, Verdict: "suspect; R7 the generator waited",
	}
	if d := cmp.Diff(want, f); d != "" {
		t.Error(d)
	}
	if f, err = parseTrial(strings.Replace(result, `{"p50": 28900, "p99": 210000, "p99_9": 926000}`, "null", 1)); err != nil || f.LatenessP50 != 0 {
		t.Errorf("parsing the result of a closed loop returned %+v, %v", f, err)
	}
	for name, bad := range map[string]string{
		"nothing":      "",
		"text":         "quorumbench: no",
		"nothing done": strings.Replace(result, `"completed_in_window": 60003`, `"completed_in_window": 0`, 1),
		"errors":       strings.Replace(result, `"errors": 0`, `"errors": 3`, 1),
		"misses":       strings.Replace(result, `"misses": 0`, `"misses": 3`, 1),
	} {
		if _, err := parseTrial(bad); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	w := tail{limit: 8}
	for range 100 {
		if n, err := w.Write([]byte("abc\n")); n != 4 || err != nil {
			t.Fatal(n, err)
		}
	}
	if string(w.b) != "abc\nabc\n" || w.quote() != ": abc" {
		t.Errorf("the tail contains %q and is quoted as %q", w.b, w.quote())
	}
	if got := (&tail{}).quote(); got != "" {
		t.Errorf("an empty tail is quoted as %q", got)
	}
}
