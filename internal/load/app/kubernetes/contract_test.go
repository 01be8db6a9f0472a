package kubernetes_test

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/quorumbench/quorumbench/internal/load/app/kubernetes"
	"github.com/quorumbench/quorumbench/internal/testing/servers/embedded"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// contractPackage is the package with etcd's own tests of the requests that Kubernetes' API server
// sends.
const contractPackage = "go.etcd.io/etcd/tests/v3/robustness/coverage"

// TestContract checks the load with etcd's own test of the contract between etcd and Kubernetes. It
// sends the load to an etcd that traces each request, and passes the traces to etcd's test. That
// test fails if it finds an unknown method, an unknown form of a call, or an unknown form of a key.
// TestContract compiles etcd's test from the module that contains etcd's tests. The compiled test
// reads the traces from a file in Jaeger's format.
func TestContract(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: etcd's test of its contract is compiled")
	}
	settle.SkipUnderRace(t)
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "1000000") // no span may be dropped
	spans := &spans{}
	member := embedded.NewTraced(t, spans.serve(t))
	if err := member.Start(); err != nil {
		t.Fatal(err)
	}
	// The load is long enough to contain all kinds of calls.
	c := kubernetes.Config{Nodes: 20, PodsPerNode: 30, Churn: 20, Seed: 5, CompactInterval: 3 * time.Second, ListInterval: 5 * time.Second}
	const length = 12 * time.Second
	s, res := sendFrom(t, member.Endpoint(), c, length, func() { spans.forget() })
	check(t, s, res)
	for _, call := range []kubernetes.Call{kubernetes.GrantMasterLease, kubernetes.GrantLease, kubernetes.Compact, kubernetes.ListPods, kubernetes.ListKeys, kubernetes.Count} {
		if callsOf(res)[call.String()].Due == 0 {
			t.Errorf("the load has no %s", call)
		}
	}
	member.Stop() // this exports the remaining spans

	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "testdata"), 0o700); err != nil {
		t.Fatal(err)
	}
	spans.write(t, filepath.Join(dir, "testdata", "traces.json"))
	binary := filepath.Join(dir, "coverage.test")
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", binary, contractPackage).CombinedOutput(); err != nil {
		t.Fatalf("etcd's test does not compile: %v\n%s", err, out)
	}
	judge := exec.CommandContext(t.Context(), binary, "-test.v", "-test.run", "^TestInterfaceUse$")
	judge.Dir = dir
	out, err := judge.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("etcd's test of its contract with Kubernetes: %v", err)
	}
	// etcd's test has found each method in each form that the test supports.
	for _, want := range []string{
		`OptimisticPut +│ /registry/\{resource\}/\{namespace\}/\{name\}`, `OptimisticDelete`, `Healthcheck`, `Compaction`, `Get `, `Count`, `Keys`, `List `,
		`Watch +│ /registry/\{resource\}/`, `masterleases`, `events`, `--- PASS: TestInterfaceUse/traces.json`,
	} {
		if !regexp.MustCompile(want).Match(out) {
			t.Errorf("the output of etcd's test does not match %s", want)
		}
	}
}

// spans is a trace collector that keeps all spans in memory.
type spans struct {
	collector.UnimplementedTraceServiceServer

	mu    sync.Mutex
	since uint64 // spans that began before this time are dropped; in nanoseconds since 1970
	got   []*trace.ResourceSpans
}

// serve runs the collector until the test ends. It returns the collector's address.
func (s *spans) serve(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(64 << 20))
	collector.RegisterTraceServiceServer(server, s)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	return l.Addr().String()
}

func (s *spans) Export(_ context.Context, r *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, r.GetResourceSpans()...)
	return &collector.ExportTraceServiceResponse{}, nil
}

// forget makes the collector drop all spans that began before now.
func (s *spans) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = uint64(time.Now().UnixNano())
}

// write writes the spans to a file, in the format of Jaeger's response to a query for traces.
func (s *spans) write(t *testing.T, path string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.got {
		for _, scope := range r.GetScopeSpans() {
			kept := scope.Spans[:0]
			for _, span := range scope.GetSpans() {
				if span.GetStartTimeUnixNano() >= s.since {
					kept = append(kept, span)
				}
			}
			scope.Spans = kept
		}
	}
	b, err := protojson.Marshal(&collector.ExportTraceServiceRequest{ResourceSpans: s.got})
	if err == nil {
		b, err = json.Marshal(map[string]json.RawMessage{"result": b})
	}
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
