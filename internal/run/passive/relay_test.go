package passive_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/run/passive"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/testing/certs"
	"github.com/quorumbench/quorumbench/internal/testing/servers/embedded"
)

// recorder is a running relay with its recording.
type recorder struct {
	addr, path string
	stop       func() // stops the relay and waits for it
}

func start(t *testing.T, to string, redactor *call.Redactor, secure *tls.Config) *recorder {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{addr: l.Addr().String(), path: filepath.Join(t.TempDir(), "a.qbrec")}
	w, err := call.CreateRecording(r.path, &call.Header{Store: "etcd"})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	relayed := passive.NewRelay(passive.RelayConfig{
		MemberAddress: to, Tap: passive.TapConfig{Provider: etcd.New(), Redactor: redactor, Sink: w}, Listen: secure, ALPN: []string{"h2"},
		Now: func() int64 { return int64(time.Since(began)) }, Notify: func(why string) { t.Log(why) },
	})
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- relayed.Serve(ctx, l) }()
	stopped := false
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(r.stop)
	return r
}

func (r *recorder) read(t *testing.T) (calls []*call.Call, gaps []*call.Gap) {
	t.Helper()
	_, problem, err := call.ReadRecording(r.path, func(one call.Record) error {
		if one.Gap != nil {
			gaps = append(gaps, one.Gap)
		} else {
			calls = append(calls, one.Call)
		}
		return nil
	})
	if err != nil || problem != "" {
		t.Fatal(err, problem)
	}
	return calls, gaps
}

// The relay records the calls that etcd's own client makes to a real etcd member.
func TestRequestsOfEtcdsClientAreRecorded(t *testing.T) {
	endpoint := embedded.Etcd(t)
	for name, redactor := range map[string]*call.Redactor{"hashed": call.NewRedactor(), "plain": {}} {
		t.Run(name, func(t *testing.T) {
			r := start(t, endpoint, redactor, nil)
			c, err := clientv3.New(clientv3.Config{Endpoints: []string{r.addr}})
			if err != nil {
				t.Fatal(err)
			}
			wrote := speak(t, c, "/registry/"+name+"/")
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			r.stop()
			calls, gaps := r.read(t)
			for _, g := range gaps {
				t.Errorf("the recording has the gap %+v", g)
			}
			holds(t, calls, redactor, "/registry/"+name+"/", wrote)
			file, err := os.ReadFile(r.path)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(file, []byte("registry")) && !redactor.Plain() {
				t.Error("the file contains a key in plain text")
			}
		})
	}
}

// speak makes one call of each kind. It returns the revision at which the first key was written.
func speak(t *testing.T, c *clientv3.Client, prefix string) (wrote int64) {
	t.Helper()
	ctx := t.Context()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	watching, end := context.WithCancel(ctx)
	defer end()
	events := c.Watch(watching, prefix, clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	<-events                                                        // the watch exists
	put, err := c.Put(ctx, prefix+"a", strings.Repeat("v", 70_000)) // needs several frames
	check(err)
	<-events
	_, err = c.Get(ctx, prefix+"a", clientv3.WithSerializable())
	check(err)
	_, err = c.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithLimit(10))
	check(err)
	for range 2 { // in the second transaction, the condition is false
		_, err = c.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(prefix+"a"), "=", put.Header.Revision)).
			Then(clientv3.OpPut(prefix+"a", "w")).Else(clientv3.OpGet(prefix + "a")).Commit()
		check(err)
	}
	lease, err := c.Grant(ctx, 60)
	check(err)
	_, err = c.Put(ctx, prefix+"b", "", clientv3.WithLease(lease.ID))
	check(err)
	_, err = c.KeepAliveOnce(ctx, lease.ID)
	check(err)
	_, err = c.Revoke(ctx, lease.ID)
	check(err)
	_, err = c.Delete(ctx, prefix+"a")
	check(err)
	if _, err = c.Put(ctx, "", "no key"); err == nil {
		t.Fatal("an empty key was written")
	}
	return put.Header.Revision
}

// holds checks that a recording contains the calls of the function speak.
func holds(t *testing.T, calls []*call.Call, redactor *call.Redactor, prefix string, wrote int64) {
	t.Helper()
	of := map[string][]*call.Call{}
	events := int64(0)
	for _, c := range calls {
		if c.At < 0 || c.Conn != 1 {
			t.Errorf("%+v", c)
		}
		if c.Pushed {
			events += c.KeyCount
			continue
		}
		of[c.Method] = append(of[c.Method], c)
	}
	for method, n := range map[string]int{"KV/Put": 3, "KV/Range": 2, "KV/Txn": 2, "KV/DeleteRange": 1, "Lease/LeaseGrant": 1, "Lease/LeaseRevoke": 1, "Lease/LeaseKeepAlive": 1} {
		if len(of[method]) != n {
			t.Fatalf("%d calls of %s are recorded, not %d", len(of[method]), method, n)
		}
		for _, c := range of[method] {
			if !c.Answered() || c.RequestSize == 0 && method != "KV/Put" || len(c.Parts) == 0 {
				t.Errorf("%+v", c)
			}
		}
	}
	key := func(name string) string { return string(redactor.RedactKey([]byte(prefix + name))) }
	put, bound, refused := of["KV/Put"][0], of["KV/Put"][1], of["KV/Put"][2]
	if p := put.Parts[0]; put.Revision != wrote || string(p.Key) != key("a") || p.Value.Size != 70_000 || put.RequestSize < 70_000 {
		t.Errorf("the first put is recorded as %+v, but it wrote at revision %d", put, wrote)
	}
	lease := of["Lease/LeaseGrant"][0].Lease
	if lease == 0 || bound.Parts[0].Lease != lease || of["Lease/LeaseKeepAlive"][0].Parts[0].Lease != lease || of["Lease/LeaseRevoke"][0].Parts[0].Lease != lease {
		t.Errorf("the calls do not all have the lease %d", lease)
	}
	if refused.Code != 3 {
		t.Errorf("the refused put has the code %d, want 3", refused.Code)
	}
	if p := of["KV/Range"][0].Parts[0]; p.Scope != call.SingleKey || p.Flags != call.Local {
		t.Errorf("the local read is recorded as %+v", p)
	}
	if p := of["KV/Range"][1].Parts[0]; p.Scope != call.Prefix || p.Limit != 10 || string(p.Key) != key("") || !strings.HasPrefix(key("a"), key("")) {
		t.Errorf("the list request is recorded as %+v", p)
	}
	for i, txn := range of["KV/Txn"] {
		p := txn.Parts
		if !txn.Guarded || txn.GuardsHeld != (i == 0) || len(p) != 3 || p[0].Action != call.Compare || p[0].Target != call.Modified || p[0].Number != wrote ||
			p[1].Action != call.Write || p[1].Branch != call.Then || p[2].Action != call.Read || p[2].Branch != call.Else {
			t.Errorf("transaction %d is %+v", i, txn)
		}
	}
	begun := false
	for _, c := range of["Watch/Watch"] {
		begun = begun || c.Parts[0].Action == call.Watch && c.Answered() && string(c.Parts[0].Key) == key("")
	}
	if !begun || events == 0 {
		t.Errorf("the recording has the start of the watch: %v; the client received %d events", begun, events)
	}
}

// Clients connect to the relay over TLS. The relay connects to the member without TLS.
func TestTLSEndsAtTheRelay(t *testing.T) {
	endpoint := embedded.Etcd(t)
	server, client := certs.Configs(t)
	r := start(t, endpoint, call.NewRedactor(), server)
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{r.addr}, TLS: client})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(t.Context(), "/a", "b"); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	r.stop()
	if calls, gaps := r.read(t); len(calls) != 1 || len(gaps) > 0 {
		t.Errorf("%d calls and %d gaps are recorded", len(calls), len(gaps))
	}
}

// Bytes that are not HTTP/2 are forwarded unchanged. The recording reports that they were not
// decoded.
func TestForeignBytesAreForwarded(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		b := make([]byte, 5)
		n, _ := c.Read(b)
		_, _ = c.Write(append([]byte("heard "), b[:n]...))
		_ = c.Close()
	}()
	r := start(t, l.Addr().String(), call.NewRedactor(), nil)
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if _, err := got.ReadFrom(c); err != nil || got.String() != "heard hello" {
		t.Fatalf("%q arrived, %v", got.String(), err)
	}
	_ = c.Close()
	r.stop()
	if calls, gaps := r.read(t); len(calls) != 0 || len(gaps) != 1 || !strings.Contains(gaps[0].Reason, "does not speak HTTP/2") {
		t.Errorf("%d calls and %+v are recorded", len(calls), gaps)
	}
}
