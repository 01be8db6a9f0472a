package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/registry"
)

// quorumbench must send the same request as wrk, byte for byte. wrk sends only the request line and
// the Host field.
func TestLocalReadEqualsQuorumbenchs(t *testing.T) {
	const endpoint = "127.0.0.1:2379"
	spoken := 0
	for _, s := range registry.All() {
		target, ok := LocalRead(s.Name(), "r0000000")
		if !ok {
			continue
		}
		spoken++
		codec := s.Codecs(store.Access{Endpoints: []string{endpoint}})(store.ConnectionInfo{Endpoint: endpoint})
		codec.Submit(&store.Op{Kind: kv.Get, Consistency: kv.Local, Key: []byte("r0000000")})
		want := "GET " + target + " HTTP/1.1\r\nHost: " + endpoint + "\r\n\r\n"
		if d := cmp.Diff(want, string(codec.Out())); d != "" {
			t.Errorf("%s: %s", s.Name(), d)
		}
	}
	if spoken != 2 {
		t.Errorf("%d stores speak HTTP/1.1, want 2", spoken)
	}
}

// wrkSummary is the summary that wrk prints at its end.
const wrkSummary = `Running 1s test @ http://127.0.0.1:34015/v1/kv/r0000000?raw&stale
  1 threads and 100 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     9.35ms   10.83ms  53.44ms   85.91%
    Req/Sec    11.81k     6.78k   19.39k    50.00%
  12382 requests in 1.11s, 4.42MB read
Requests/sec:  11137.32
Transfer/sec:      3.97MB
`

func TestParseWrk(t *testing.T) {
	f, err := parseWrk(wrkSummary, 256)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Figures{Operations: 12382, PerSecond: 11137.32}, f); d != "" {
		t.Error(d)
	}
	const read = "MB read\n"
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "no summary"},
		{"not connected", "unable to connect to 127.0.0.1:1 Connection refused", "Connection refused"},
		{"an error's status", strings.Replace(wrkSummary, read, read+"  Non-2xx or 3xx responses: 14020\n", 1), "14020 of wrk's requests"},
		{"failures", strings.Replace(wrkSummary, read, read+"  Socket errors: connect 0, read 7, write 0, timeout 1\n", 1), "read 7, write 0, timeout 1"},
		{"short answers", strings.Replace(wrkSummary, "4.42MB", "800.00KB", 1), "66 bytes each"},
		{"nothing done", strings.Replace(wrkSummary, "12382 requests", "0 requests", 1), "no operation was completed"},
		{"no rate", strings.Replace(wrkSummary, "Requests/sec", "Rate", 1), "no summary"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := parseWrk(c.text, 256); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestBinaryUnit(t *testing.T) {
	for letter, want := range map[string]float64{"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40} {
		if got := binaryUnit(letter); got != want {
			t.Errorf("the unit %qB is %v bytes, want %v", letter, got, want)
		}
	}
}

// heySummary is the summary that hey prints at its end, without the histogram.
const heySummary = `
Summary:
  Total:	1.0231 secs
  Slowest:	0.1181 secs
  Fastest:	0.0001 secs
  Average:	0.0191 secs
  Requests/sec:	4963.2189
  
  Total data:	1299968 bytes
  Size/request:	256 bytes

Response time histogram:
  0.000 [1]	|
  0.012 [2090]	|■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■

Latency distribution:
  10% in 0.0044 secs
  50% in 0.0130 secs

Details (average, fastest, slowest):
  DNS+dialup:	0.0002 secs, 0.0001 secs, 0.1181 secs
  resp read:	0.0013 secs, 0.0000 secs, 0.0626 secs

Status code distribution:
  [200]	5078 responses

`

// heyRefused is hey's output if no server listens on the port.
const heyRefused = `
Summary:
  Total:	1.0100 secs
  Average:	 NaN secs
  Requests/sec:	4554.5310
  

Response time histogram:


Status code distribution:

Error distribution:
  [4600]	Get "http://127.0.0.1:1/": dial tcp 127.0.0.1:1: connect: connection refused
`

func TestParseHey(t *testing.T) {
	f, err := parseHey(heySummary, 256)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Figures{Operations: 5078, PerSecond: 4963.2189}, f); d != "" {
		t.Error(d)
	}
	const status = "  [200]\t5078 responses\n"
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "no summary"},
		{"not connected", heyRefused, "connection refused"},
		{"an error's status", strings.Replace(heySummary, status, status+"  [404]\t7 responses\n", 1), "7 of hey's requests were answered with status 404"},
		{"short answers", strings.Replace(heySummary, "256 bytes", "10 bytes", 1), "10 bytes each"},
		{"answers of unknown size", strings.Replace(heySummary, "Size/request", "Size", 1), "size"},
		{"nothing done", strings.Replace(heySummary, status, "", 1), "no operation was completed"},
		{"more than it counts", strings.Replace(heySummary, "5078", "1000000", 1), "a million"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := parseHey(c.text, 256); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
