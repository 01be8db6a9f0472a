package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// Every command that contacts a server prints the server's texts and errors in printable form. CI
// tests three of the servers.
func TestServersAreShownPrintable(t *testing.T) {
	for _, s := range settle.Sample(t, 3, []struct {
		name, store string
		endpoint    func(*testing.T) string
	}{
		{"etcd refuses", "etcd", func(t *testing.T) string { return hostileEtcd(t, false) }},
		{"etcd answers", "etcd", func(t *testing.T) string { return hostileEtcd(t, true) }},
		{"etcd v2", "etcdv2", hostileHTTP},
		{"Consul", "consul", hostileHTTP},
		{"ZooKeeper", "zookeeper", hostileZooKeeper},
		{"no server", "etcd", greeting},
	}) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			endpoint := s.endpoint(t)
			file := filepath.Join(t.TempDir(), "hostile.yaml")
			text := fmt.Sprintf("trials:\n- store: %s\n  endpoints: [%q]\n  operation: put\n  total: 20\n  timeout: 200ms\n  warmup: 0s\n  preload: false\n", s.store, endpoint)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			attach := []string{"--store", s.store, "--endpoints", endpoint, "--timeout", "200ms"}
			for _, args := range [][]string{
				append([]string{"bench", "put", "--total", "20", "--warmup", "0s"}, attach...),
				append([]string{"bench", "put", "--total", "20", "--warmup", "0s", "--target", "leader", "--format", "json"}, attach...),
				// The command get preloads keys.
				append([]string{"bench", "get", "--total", "20", "--warmup", "0s"}, attach...),
				{"run", file, "--runs-dir", t.TempDir()},
				append([]string{"check", "perf", "--rate", "20", "--clients", "2", "--duration", "1s", "--verbose"}, attach...),
				append([]string{"check", "perf", "--rate", "20", "--clients", "2", "--duration", "1s", "--format", "json"}, attach...),
				append([]string{"check", "datascale"}, attach...),
			} {
				checkShown(t, args...)
			}
		})
	}
}

// The versions and names that a server reports are printable in a valid result, too.
func TestHostileVersionIsKeptPrintable(t *testing.T) {
	var out, progress strings.Builder
	dir := filepath.Join(t.TempDir(), "run")
	code := Main([]string{"bench", "put", "--endpoints", hostileEtcd(t, true), "--total", "20", "--warmup", "0s", "--out", dir},
		strings.NewReader(""), &out, &progress)
	if !strings.Contains(out.String(), `=1+1|\x1b]0;x\x07`) {
		t.Errorf("exit code %d, and the version is not in %s%s", code, out.String(), progress.String())
	}
	b, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	looksRight(t, "run.json", string(b))
}

func TestClusterMembersAreShownPrintable(t *testing.T) {
	var out strings.Builder
	a := &commandLine{&command.App{Stdout: command.NewOutput(&out)}}
	m := cluster.PlaygroundMember{}
	m.Name, m.Endpoint, m.LogFile = hostile, hostile, hostile
	a.members(&cluster.Playground{Members: []cluster.PlaygroundMember{m}},
		store.Status{Members: []store.Member{{Name: hostile, Endpoint: hostile, Version: hostile, Role: kv.Leader}}})
	looksRight(t, "members", out.String())
	if n := strings.Count(out.String(), "\n"); n != 3 {
		t.Errorf("%d lines: %s", n, out.String())
	}
}

// Errors that quote the user's input, and plans of hostile scenario files, are printable.
func TestInputIsShownPrintable(t *testing.T) {
	settle.SkipUnderRace(t)
	dir := t.TempDir()
	t.Chdir(dir)
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	quoted, err := json.Marshal(hostile) // a JSON string is also valid YAML
	if err != nil {
		t.Fatal(err)
	}
	trial := "trials:\n- store: {name: etcd, %s: %s}\n  operation: put\n  total: 3\n"
	for i, text := range []string{
		fmt.Sprintf(trial, "exec", quoted), fmt.Sprintf(trial, "label", `"\x1b]0;x\a"`), fmt.Sprintf(trial, "version", quoted),
		fmt.Sprintf(trial, quoted, "1"), "name: " + string(quoted) + "\n" + fmt.Sprintf(trial, "label", "x"),
		fmt.Sprintf(trial, "label", "x") + "  key-prefix: " + string(quoted) + "\n", fmt.Sprintf(trial, "label", "x") + "  operation: " + string(quoted) + "\n",
		hostile, "trials: [" + hostile,
	} {
		file := write(fmt.Sprintf("%d-\x1b]0;x\x07\nFORGED\u202e.yaml", i), text)
		checkShown(t, "run", file, "--dry-run")
	}
	h := strings.ReplaceAll(hostile, "/", "\\")
	for _, args := range [][]string{
		{h}, {"bench", h}, {"bench", "put", "--" + h}, {"bench", "put", "-" + h}, {"bench", "put", h, h}, {"run", h}, {"run", "--out", h, h}, {"report", h},
		{"run", "--store", h}, {"run", "--exec", h, "--dry-run"},
		{"bench", "put", "--endpoints", h}, {"bench", "put", "--target", h}, {"bench", "put", "--threshold", h},
		{"bench", "put", "--endpoints", "127.0.0.1:1", "--cacert", h}, {"cluster", "status", "--dir", filepath.Join(dir, h)},
		{"cluster", "down", "--dir", filepath.Join(dir, h)}, {"cluster", h}, {"stores", "install", h}, {"null-server", "--script", h},
		{"null-server", "--protocol", h}, {"check", "disk", h}, {"check", "perf", "--load", h}, {"check", "perf", "--data-dir", h}, {"help", h},
	} {
		checkShown(t, args...)
	}
}

// acceptAll accepts connections on a free port until the test ends, and calls handle for every
// connection.
func acceptAll(t *testing.T, handle func(net.Conn)) (endpoint string) {
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
			go func() {
				defer func() { _ = c.Close() }()
				handle(c)
			}()
		}
	}()
	return l.Addr().String()
}

// greeting starts a server with an unrelated protocol in which the server sends the first message.
func greeting(t *testing.T) string {
	return acceptAll(t, func(c net.Conn) {
		_, _ = io.WriteString(c, "220 "+hostile+"\r\n")
		_, _ = io.Copy(io.Discard, c)
	})
}

// hostileZooKeeper starts a server that responds to four-letter-word commands and closes every
// session.
func hostileZooKeeper(t *testing.T) string {
	oneLine := strings.NewReplacer("\n", "", "\r", "").Replace(hostile)
	return acceptAll(t, func(c net.Conn) {
		word := make([]byte, 4)
		if _, err := io.ReadFull(bufio.NewReader(c), word); err != nil {
			return
		}
		switch string(word) {
		case "srvr":
			_, _ = fmt.Fprintf(c, "Zookeeper version: 3.9.5%s, built on %s\nZxid: 0x100000002\nMode: standalone\nNode count: 5\n", oneLine, oneLine)
		case "conf":
			_, _ = fmt.Fprintf(c, "serverId=1%s\n", oneLine)
		default:
			_, _ = io.WriteString(c, hostile)
		}
	})
}

// hostileHTTP starts a server that answers requests for its description like etcd's v2 API and like
// Consul, and refuses all other requests.
func hostileHTTP(t *testing.T) string {
	answers := map[string]any{
		"/version":         map[string]any{"etcdserver": hostile},
		"/v2/stats/self":   map[string]any{"name": hostile, "id": "1", "state": "StateLeader", "leaderInfo": map[string]any{"leader": "1"}},
		"/v2/members":      map[string]any{"members": []any{map[string]any{"id": "1", "name": hostile, "clientURLs": []string{hostile}}}},
		"/v1/agent/self":   consulSelf(),
		"/v1/status/peers": []string{hostile},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer, ok := answers[r.URL.Path]; ok {
			_ = json.NewEncoder(w).Encode(answer)
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
		text, _ := json.Marshal(hostile)
		if strings.HasPrefix(r.URL.Path, "/v2/") {
			_, _ = fmt.Fprintf(w, `{"errorCode":300,"message":%s,"cause":%s}`, text, text)
			return
		}
		_, _ = io.WriteString(w, strings.TrimLeft(hostile, "=1+|"))
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func consulSelf() any {
	return map[string]any{
		"Config": map[string]any{"NodeName": hostile, "NodeID": "00000000-0000-0001-0000-000000000001", "Version": hostile},
		"Member": map[string]any{"Addr": hostile, "Tags": map[string]any{"port": hostile}},
		"Stats":  map[string]any{"raft": map[string]any{"state": "Leader", "term": "3"}},
	}
}

// etcdServer is an etcd server that returns hostile texts.
type etcdServer struct {
	etcdserverpb.UnimplementedKVServer
	etcdserverpb.UnimplementedMaintenanceServer
	etcdserverpb.UnimplementedClusterServer
	answers  bool
	revision atomic.Int64
}

func (e *etcdServer) header() *etcdserverpb.ResponseHeader {
	return &etcdserverpb.ResponseHeader{ClusterId: 7, MemberId: 1, Revision: e.revision.Load(), RaftTerm: 3}
}

func (e *etcdServer) Put(context.Context, *etcdserverpb.PutRequest) (*etcdserverpb.PutResponse, error) {
	e.revision.Add(1)
	return &etcdserverpb.PutResponse{Header: e.header()}, e.refusal()
}

func (e *etcdServer) Range(context.Context, *etcdserverpb.RangeRequest) (*etcdserverpb.RangeResponse, error) {
	return &etcdserverpb.RangeResponse{Header: e.header()}, e.refusal()
}

// Txn succeeds for every request, so that a run can create and remove its marker.
func (e *etcdServer) Txn(_ context.Context, r *etcdserverpb.TxnRequest) (*etcdserverpb.TxnResponse, error) {
	e.revision.Add(1)
	out := &etcdserverpb.TxnResponse{Header: e.header(), Succeeded: true}
	for _, op := range r.Success {
		var done etcdserverpb.ResponseOp
		switch {
		case op.GetRequestPut() != nil:
			done.Response = &etcdserverpb.ResponseOp_ResponsePut{ResponsePut: &etcdserverpb.PutResponse{Header: e.header()}}
		case op.GetRequestDeleteRange() != nil:
			done.Response = &etcdserverpb.ResponseOp_ResponseDeleteRange{ResponseDeleteRange: &etcdserverpb.DeleteRangeResponse{Header: e.header()}}
		default:
			done.Response = &etcdserverpb.ResponseOp_ResponseRange{ResponseRange: &etcdserverpb.RangeResponse{Header: e.header()}}
		}
		out.Responses = append(out.Responses, &done)
	}
	return out, e.refusal()
}

func (e *etcdServer) DeleteRange(context.Context, *etcdserverpb.DeleteRangeRequest) (*etcdserverpb.DeleteRangeResponse, error) {
	e.revision.Add(1)
	return &etcdserverpb.DeleteRangeResponse{Header: e.header()}, e.refusal()
}

func (e *etcdServer) refusal() error {
	if e.answers {
		return nil
	}
	return status.Error(codes.Internal, hostile)
}

func (e *etcdServer) Status(context.Context, *etcdserverpb.StatusRequest) (*etcdserverpb.StatusResponse, error) {
	return &etcdserverpb.StatusResponse{Header: e.header(), Version: hostile, Leader: 1, RaftTerm: 3, DbSize: 5, Errors: []string{"alarm:" + hostile}}, nil
}

func (e *etcdServer) MemberList(context.Context, *etcdserverpb.MemberListRequest) (*etcdserverpb.MemberListResponse, error) {
	return &etcdserverpb.MemberListResponse{Header: e.header(), Members: []*etcdserverpb.Member{{ID: 1, Name: hostile, ClientURLs: []string{hostile}}}}, nil
}

// hostileEtcd starts an etcdServer. If answers is true, the server accepts puts; otherwise it
// refuses every operation with a hostile text.
func hostileEtcd(t *testing.T, answers bool) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	e := &etcdServer{answers: answers}
	e.revision.Store(4)
	etcdserverpb.RegisterKVServer(s, e)
	etcdserverpb.RegisterMaintenanceServer(s, e)
	etcdserverpb.RegisterClusterServer(s, e)
	go func() {
		if err := s.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
	}()
	t.Cleanup(s.Stop)
	return l.Addr().String()
}
