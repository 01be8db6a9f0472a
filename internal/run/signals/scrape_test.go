package signals

import (
	"context"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/consul"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
)

const etcdText = `# HELP etcd_disk_wal_fsync_duration_seconds x
# TYPE etcd_disk_wal_fsync_duration_seconds histogram
etcd_disk_wal_fsync_duration_seconds_bucket{le="0.001"} 90
etcd_disk_wal_fsync_duration_seconds_bucket{le="0.002"} 100
etcd_disk_wal_fsync_duration_seconds_bucket{le="+Inf"} 100
etcd_disk_wal_fsync_duration_seconds_sum 0.05
etcd_disk_wal_fsync_duration_seconds_count 100
# TYPE etcd_network_peer_round_trip_time_seconds histogram
etcd_network_peer_round_trip_time_seconds_bucket{To="a",le="0.1"} 3
etcd_network_peer_round_trip_time_seconds_bucket{To="a",le="+Inf"} 4
etcd_network_peer_round_trip_time_seconds_sum{To="a"} 1
etcd_network_peer_round_trip_time_seconds_count{To="a"} 4
etcd_network_peer_round_trip_time_seconds_bucket{To="b",le="0.1"} 1
etcd_network_peer_round_trip_time_seconds_bucket{To="b",le="+Inf"} 1
etcd_network_peer_round_trip_time_seconds_sum{To="b"} 0.01
etcd_network_peer_round_trip_time_seconds_count{To="b"} 1
# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total 1.5
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes 4.0968192e+07
# TYPE etcd_server_leader_changes_seen_total counter
etcd_server_leader_changes_seen_total 2
`

func TestPrometheusTextIsRead(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, etcdText)
	}))
	defer server.Close()
	here := strings.TrimPrefix(server.URL, "http://")
	s, ok := NewScraper(etcd.New(), store.Access{Dial: func(ctx context.Context, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", here)
	}}, "nowhere.invalid:1")
	if !ok {
		t.Fatal("etcd has no metrics")
	}
	defer s.Close()
	sample, err := s.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := sample[store.FsyncSeconds].Quantile(0.99); !ok || p < 0.001 || p > 0.002 {
		t.Errorf("the p99 of fsync is %v (%v)", p, ok)
	}
	if r := sample[store.PeerRoundTripSeconds]; r.Count != 5 || r.Buckets[0].Count != 4 || math.Abs(r.Sum-1.01) > 1e-9 {
		t.Errorf("the round trips to both members are %+v", r)
	}
	for metric, want := range map[store.Metric]float64{store.CPUSeconds: 1.5, store.ResidentBytes: 40968192, store.LeaderChanges: 2} {
		if got := sample[metric].Value; got != want {
			t.Errorf("metric %d is %v, want %v", metric, got, want)
		}
	}
	if _, ok := sample[store.CommitSeconds]; ok {
		t.Error("the sample has a commit metric that the text does not contain")
	}
}

// wordServer responds to one command and then closes the connection, as ZooKeeper does.
func wordServer(t *testing.T, answer string) (endpoint string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.ReadFull(c, make([]byte, 4))
			_, _ = io.WriteString(c, answer)
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

func TestMonitorWordIsRead(t *testing.T) {
	elsewhere := store.Access{} // an address that only the dialer in access can resolve
	elsewhere.Dial = func(ctx context.Context, endpoint string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", strings.Replace(endpoint, "nowhere.invalid", "127.0.0.1", 1))
	}
	for name, answer := range map[string]string{
		"with the Prometheus provider": "zk_version\t3.9.5-x, built on 2025\nzk_server_state\tleader\n" +
			"zk_fsynctime{quantile=\"0.5\"}\t0.0\nzk_fsynctime_count\t4.0\nzk_fsynctime_sum\t40.0\nzk_process_cpu_seconds_total\t9.05\nzk_propagation_latency\tNaN\n",
		"with the default provider": "zk_version\t3.9.5\nzk_sum_fsynctime\t40\nzk_cnt_fsynctime\t4\nzk_process_cpu_seconds_total\t9.05\n",
	} {
		s, _ := NewScraper(zookeeper.New(), elsewhere, strings.Replace(wordServer(t, answer), "127.0.0.1", "nowhere.invalid", 1))
		sample, err := s.Read(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		mean, ok := sample[store.FsyncSeconds].Mean()
		if !ok || math.Abs(mean-0.01) > 1e-12 || sample[store.CPUSeconds].Value != 9.05 {
			t.Errorf("%s: %+v", name, sample)
		}
	}
}

// No program listens on this address. In contrast, another program could already use a port that a
// test has just released.
const nobody = "127.0.0.1:1"

func TestFailedScrapeNamesTheCause(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	s, _ := NewScraper(etcd.New(), store.Access{}, strings.TrimPrefix(server.URL, "http://"))
	if _, err := s.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "HTTP status 404") {
		t.Errorf("the error is %v", err)
	}
	s, _ = NewScraper(etcd.New(), store.Access{}, nobody)
	if _, err := s.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("the error is %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Read(ended); err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("the error is %v", err)
	}
	s, _ = NewScraper(zookeeper.New(), store.Access{}, wordServer(t, "zk_version\t3.9.5\n"))
	if _, err := s.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "no known metric") {
		t.Errorf("the error is %v", err)
	}
}

func TestScrapeNamesTheSettingThatAllowsIt(t *testing.T) {
	answering := func(status int, text string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, text, status) }))
		t.Cleanup(server.Close)
		return strings.TrimPrefix(server.URL, "http://")
	}
	for _, c := range []struct {
		of             store.Store
		endpoint, want string
	}{
		{zookeeper.New(), wordServer(t, "mntr is not executed because it is not in the whitelist.\n"), "4lw.commands.whitelist"},
		{consul.New(), answering(403, "Permission denied: token with AccessorID 'x' lacks permission 'agent:read' on \"n\""), "give the token the right agent:read"},
		{consul.New(), answering(415, "Prometheus is not enabled since its retention time is not positive"), "telemetry.prometheus_retention_time"},
		{etcd.New(), answering(404, "404 page not found"), "--listen-metrics-urls"},
		{etcd.New(), answering(200, "# nothing"), "--listen-metrics-urls"},
		{etcd.New(), wordServer(t, "\x00\x00\x06\x04\x00\x00\x00\x00\x00"), "--listen-metrics-urls"}, // only gRPC
	} {
		s, _ := NewScraper(c.of, store.Access{}, c.endpoint)
		if _, err := s.Read(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v", c.of.Name(), err)
		}
	}
}

func FuzzParseLines(f *testing.F) {
	f.Add("zk_a{b=\"c d\"}\t1.0\nx 2\n\n")
	f.Fuzz(func(_ *testing.T, text string) {
		selectMetrics(parseLines(text), zookeeper.New().Metrics(store.Access{}, "h:1")[0].Names)
	})
}

func TestConnectMeasuresAndFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if took, err := MeasureConnect(t.Context(), l.Addr().String(), nil); err != nil || took <= 0 {
		t.Errorf("%v, %v", took, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := MeasureConnect(t.Context(), nobody, nil); err == nil || !strings.Contains(err.Error(), nobody) {
		t.Errorf("the error is %v", err)
	}
}
