//go:build linux

package e2e_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
)

// usedKine starts a kine that holds a user's keys. kine accepts only the calls that Kubernetes' API
// server uses: it has no DeleteRange, no local reads and no lease keep-alives.
func usedKine(t *testing.T) *inUse {
	t.Helper()
	u := &inUse{store: "etcd", endpoint: servers.StartKine(t)}
	c := official.Etcd(t, store.Access{Endpoints: []string{u.endpoint}})
	u.read = func(t *testing.T) contents { return readEtcdKeys(t, c) }
	for _, key := range []string{"quorumbench-of-the-user", "/quorumbench-of-the-user", "00000000", "/registry/pods/default/mine"} {
		if _, err := c.Put(t.Context(), key, "the user's"); err != nil {
			t.Fatal(err)
		}
	}
	return u
}

// checkedOnKine has loads for which kine responds correctly. If two clients write one key
// concurrently, kine acknowledges both writes but executes only one of them, so no key in these
// loads has two concurrent writers.
const checkedOnKine = `
name: kine
defaults: {store: etcd, endpoints: ["ENDPOINT"], connections: 2, verify: true}
trials:
  - {name: kubernetes, application: kubernetes, nodes: 5, pods-per-node: 10, churn: 2, duration: 4s}
  - {name: one-client, warmup: 0s, mix: [{operation: put, weight: 1}, {operation: get, weight: 1}], clients: 1, key-space: 20, value-size: 64, preload: true, total: 300}
  - {name: each-key-once, warmup: 0s, mix: [{operation: put, weight: 1}, {operation: get, weight: 1}], clients: 8, distribution: sequential, key-space: 400, value-size: 64, preload: true, total: 400}
  - {name: watch, warmup: 0s, operation: put, clients: 8, distribution: sequential, key-space: 200, value-size: 64, total: 200, watch: {watchers: 200, streams: 4, connections: 2}}
`

// TestKineIsNotAccused verifies the responses of a correct kine. These responses contain no
// versions, members or terms.
func TestKineIsNotAccused(t *testing.T) {
	t.Parallel()
	w, u := newWorld(t), usedKine(t)
	before := u.read(t)
	dir := w.path("run")
	w.run(t, "run", w.file(t, "kine.yaml", strings.ReplaceAll(checkedOnKine, "ENDPOINT", u.endpoint)), "--out", dir).exits(t, exitDone)
	u.unchanged(t, before, "four checked loads")
	run := openRun(t, dir, record.Complete)
	for _, name := range []string{"kubernetes", "one-client", "each-key-once", "watch"} {
		trial := byName(t, run, name)
		if a := trial.Verification; a == nil || len(a.WrongByKind) > 0 || trial.Errors > 0 {
			t.Errorf("%s: the verification is %+v, with %d errors: %v", name, a, trial.Errors, trial.ErrorTexts)
		}
		if watches := trial.Verification.Watches; (name == "kubernetes" || name == "watch") && (watches == nil || watches.Events == 0) {
			t.Errorf("%s: the results of the watchers are %+v", name, watches)
		}
	}
}

// TestCommandsChangeNothingOnKine runs commands against kine, which deletes keys only in
// transactions. Each command removes its keys, or reports before the load which operation the
// server refuses.
func TestCommandsChangeNothingOnKine(t *testing.T) {
	t.Parallel()
	w, u := newWorld(t), usedKine(t)
	before := u.read(t)
	for _, command := range []string{
		"check perf --rate 20 --clients 5 --duration 1s", "bench put --total 50 --clients 2 --key-space-size 50", "bench get --total 50 --key-space-size 20",
		"bench cas --total 20 --key-space-size 20", "bench exists --total 50 --key-space-size 20", "bench watch-latency --put-total 20",
	} {
		u.quorumbench(t, w, strings.Fields(command)...).exits(t, exitDone)
		u.unchanged(t, before, command)
	}
	for command, why := range map[string]string{
		"bench delete --total 20 --key-space-size 20":  "the operation delete, but " + u.endpoint + " rejects the request: delete is not implemented by kine",
		"bench txn-put --total 20":                     "the operation txn, but " + u.endpoint + " rejects the request: etcdserver: unsupported operations",
		"bench txn-mixed --total 20":                   "unsupported operations in txn request",
		"bench stm --total 20":                         "the operation stm, but " + u.endpoint + " rejects the request: serializable is not implemented",
		"bench stm --total 20 --stm-locker lock-rpc":   "the operation stm, but " + u.endpoint + " rejects the request: unknown service v3lockpb.Lock",
		"bench lease-keepalive --total 20":             "the operation keepalive, but " + u.endpoint + " rejects the request: lease keep alive is not supported",
		"bench get --total 20 --consistency local":     "serializable is not implemented",
		"bench put --total 20 --prefix= --key-size 12": "keys without a prefix cannot be removed (" + u.endpoint + " rejects the request: delete is not implemented",
		// The server refuses only the second operation of the load. The command has then already
		// tried a put, and must remove that key in spite of --cleanup=false.
		"bench mixed --total 20 --key-space-size 20 --consistency local --cleanup=false": "serializable is not implemented",
	} {
		said := u.quorumbench(t, w, strings.Fields(command)...).exits(t, exitFailed).stderr.String()
		if !strings.Contains(said, why) || strings.Contains(said, "preloading") || strings.Contains(said, "measuring") {
			t.Errorf("%s printed %q", command, said)
		}
		u.unchanged(t, before, command)
	}
}

// TestAKilledRunOnKineIsCleanedUp checks that `cleanup` removes a killed run's keys, each in its
// own transaction.
func TestAKilledRunOnKineIsCleanedUp(t *testing.T) {
	t.Parallel()
	w, u := newWorld(t), usedKine(t)
	before := u.read(t)
	p := u.quorumbench(t, w, "bench", "put", "--total", "100000000", "--key-space-size", "100")
	p.awaitText(t, "measuring")
	eventually(t, patience, "keys were written", func() bool { return len(u.read(t).Keys) > len(before.Keys)+10 })
	p.signal(t, syscall.SIGKILL)
	<-p.ended
	if said := u.quorumbench(t, w, "cleanup").exits(t, exitDone).stdout.String(); !strings.Contains(said, "Removed ") {
		t.Errorf("cleanup printed %q", said)
	}
	u.unchanged(t, before, "cleanup")
}

// TestAServerWithoutDeletesIsNotWrittenTo checks that quorumbench does not write keys to a server
// from which it could not remove them, unless the user wants to keep the keys.
func TestAServerWithoutDeletesIsNotWrittenTo(t *testing.T) {
	t.Parallel()
	w, u := newWorld(t), usedKine(t)
	before := u.read(t)
	u.endpoint = refusing(t, u.endpoint, func(method string, request []byte) bool {
		var txn etcdserverpb.TxnRequest
		if !strings.HasSuffix(method, "KV/Txn") || proto.Unmarshal(request, &txn) != nil {
			return false
		}
		for _, op := range txn.Success {
			if op.GetRequestDeleteRange() != nil {
				return true
			}
		}
		return false
	})
	for _, command := range []string{"check perf --rate 20 --clients 5 --duration 1s", "check datascale", "bench put --total 20", "bench get --total 20", "capacity --objective p99<500ms --until 5s"} {
		p := u.quorumbench(t, w, strings.Fields(command)...).exits(t, exitFailed)
		if said := p.stderr.String(); strings.Count(said, "quorumbench: ") != 1 || !strings.Contains(said, "no key can be removed ("+u.endpoint+" rejects the request: delete is not implemented") {
			t.Errorf("%s printed %q", command, said)
		}
		u.unchanged(t, before, command)
	}
	said := u.quorumbench(t, w, "bench", "put", "--total", "20", "--cleanup=false").exits(t, exitDone).stderr.String()
	if strings.Contains(said, "quorumbench cleanup") || strings.Count(said, "no key can be removed (") != 2 {
		t.Errorf("for kept keys, the output is %q", said)
	}
	for key := range u.read(t).Keys {
		if strings.Contains(key, "probe") {
			t.Errorf("the key %s was not removed", key)
		}
	}
}

// refusing starts a gRPC server that forwards calls to another server, and returns the endpoint of
// the new server. If the function `lacks` returns true for a call, the new server does not forward
// the call and reports the call's method as unimplemented.
func refusing(t *testing.T, endpoint string, lacks func(method string, request []byte) bool) string {
	t.Helper()
	to, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodec(unread{})))
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.ForceServerCodec(unread{}), grpc.UnknownServiceHandler(func(_ any, from grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(from)
		on, err := to.NewStream(from.Context(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
		if err != nil {
			return err
		}
		refused := make(chan error, 1)
		go func() {
			for {
				var request []byte
				if err := from.RecvMsg(&request); err != nil {
					_ = on.CloseSend()
					return
				}
				if lacks(method, request) {
					refused <- status.Error(codes.Unimplemented, "delete is not implemented")
					_ = on.CloseSend()
					return
				}
				_ = on.SendMsg(&request)
			}
		}()
		for {
			var reply []byte
			err := on.RecvMsg(&reply)
			select {
			case err := <-refused:
				return err
			default:
			}
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			}
			if err := from.SendMsg(&reply); err != nil {
				return err
			}
		}
	}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		_ = to.Close()
	})
	return l.Addr().String()
}

// unread is a codec that copies messages without decoding them.
type unread struct{}

func (unread) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (unread) Unmarshal(b []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), b...)
	return nil
}

func (unread) Name() string { return fmt.Sprintf("%T", unread{}) }
