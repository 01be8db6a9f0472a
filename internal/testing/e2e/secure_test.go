//go:build linux

package e2e_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/certs"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
)

// newAuthority creates a certificate authority and writes the authority's certificate to NAME.crt
// in the world.
func (w *world) newAuthority(t *testing.T, name string) *certs.Authority {
	t.Helper()
	a := certs.NewAuthority(t, name)
	w.file(t, name+".crt", string(a.PEM))
	return a
}

// leaf creates a certificate for 127.0.0.1, and writes the certificate to NAME.crt and its key to
// NAME.key.
func (w *world) leaf(t *testing.T, a *certs.Authority, name string, until time.Time) {
	t.Helper()
	a.Issue(t, name, until).Write(t, w.path(name+".crt"), w.path(name+".key"))
}

// etcd starts a real etcd with one member in this process and returns its client endpoint. The
// parameter secure contains the TLS settings; nil disables TLS.
func (w *world) etcd(t *testing.T, name string, secure *transport.TLSInfo) string {
	t.Helper()
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir, cfg.LogLevel, cfg.LogOutputs = name, w.path(name), "error", []string{w.path(name + ".log")}
	scheme := "http"
	if secure != nil {
		cfg.ClientTLSInfo, scheme = *secure, "https"
	}
	free := url.URL{Scheme: scheme, Host: "127.0.0.1:0"}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{free}, []url.URL{free}
	peer := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(name)
	cfg.BcryptCost = 4 // the minimum cost of bcrypt, because the race detector makes bcrypt slow
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	select {
	case <-e.Server.ReadyNotify():
	case <-time.After(patience):
		t.Fatal("etcd is not ready")
	}
	return e.Clients[0].Addr().String()
}

func TestBenchOverTLS(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ours := w.newAuthority(t, "ca")
	w.newAuthority(t, "other")
	for name, until := range map[string]time.Time{"server": time.Now().AddDate(1, 0, 0), "client": time.Now().AddDate(1, 0, 0), "expired": time.Now().AddDate(0, 0, -1)} {
		w.leaf(t, ours, name, until)
	}
	info := func(name string) *transport.TLSInfo {
		return &transport.TLSInfo{CertFile: w.path(name + ".crt"), KeyFile: w.path(name + ".key"), TrustedCAFile: w.path("ca.crt"), ClientCertAuth: true,
			// etcd's gateway is itself a client of etcd, so it needs a client certificate.
			ClientCertFile: w.path("client.crt"), ClientKeyFile: w.path("client.key")}
	}
	secured := w.etcd(t, "secured", info("server"))
	old := w.etcd(t, "old", info("expired"))
	client := "--cert client.crt --key client.key"
	for _, args := range []string{"--cacert ca.crt " + client, "--insecure-skip-tls-verify " + client} {
		for _, endpoint := range []string{secured, "https://" + secured} {
			trial := w.bench(t, []string{endpoint}, exitDone, append([]string{"mixed", "--key-space-size", "200", "--total", "600", "--conns", "3", "--clients", "12"}, strings.Fields(args)...)...)
			if trial.Operations != 600 || trial.Errors+trial.WrongResponses+trial.Misses > 0 || !trial.TLS {
				t.Errorf("bench %s: %d operations, errors %v, TLS %v", args, trial.Operations, trial.ErrorsByKind, trial.TLS)
			}
		}
	}
	for _, test := range []struct {
		endpoint, args string
		want           []string
	}{
		{secured, "--cacert other.crt " + client, []string{secured, "certificate signed by unknown authority"}},
		{old, "--cacert ca.crt " + client, []string{old, "expired"}},
		{secured, "--cacert ca.crt --cert expired.crt --key expired.key", []string{"expired"}},
		{secured, "--cacert ca.crt", []string{secured, "certificate"}},
		{secured, "", []string{secured}},
		{secured, "--cacert nowhere.crt", []string{"nowhere.crt"}},
		{secured, "--cacert ca.key " + client, []string{"ca.key"}},
		{secured, "--cacert ca.crt --cert client.crt --key server.key", []string{"server.key"}},
	} {
		for _, command := range []string{"put", "get"} {
			args := append([]string{"bench", command, "--endpoints", test.endpoint, "--total", "100"}, strings.Fields(test.args)...)
			w.run(t, args...).exits(t, exitFailed).oneSentence(t, test.want...)
		}
	}
}

func TestBenchWithAPassword(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	endpoint := w.etcd(t, "locked", nil)
	client := official.Etcd(t, store.Access{Endpoints: []string{endpoint}})
	check := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(client.UserAdd(t.Context(), "root", "secret"))
	check(client.UserGrantRole(t.Context(), "root", "root"))
	check(client.RoleAdd(t.Context(), "some"))
	check(client.RoleGrantPermission(t.Context(), "some", "mine/", "mine0", clientv3.PermissionType(clientv3.PermReadWrite)))
	check(client.UserAdd(t.Context(), "alice", "wonder:land"))
	check(client.UserGrantRole(t.Context(), "alice", "some"))
	check(client.AuthEnable(t.Context()))

	for user, prefix := range map[string]string{"root:secret": "", "alice:wonder:land": "mine/"} {
		trial := w.bench(t, []string{endpoint}, exitDone, "mixed", "--user", user, "--prefix", prefix, "--key-space-size", "200", "--total", "600", "--conns", "3", "--clients", "12", "--out", w.path("run-"+user[:4]))
		if trial.Operations != 600 || trial.Errors+trial.WrongResponses+trial.Misses > 0 || !trial.Authenticated {
			t.Errorf("%s: %d operations, errors %v", user, trial.Operations, trial.ErrorsByKind)
		}
		w.holdsNo(t, "run-"+user[:4], strings.SplitN(user, ":", 2)[1])
	}
	for user, want := range map[string]string{"root:wrong": "authentication failed", "nobody:secret": "authentication failed", "alice:wonder:land": "permission denied", "": "user name is empty"} {
		args := []string{"bench", "put", "--endpoints", endpoint, "--total", "100"}
		if user != "" {
			args = append(args, "--user", user)
		}
		said := w.run(t, args...).exits(t, exitFailed).oneSentence(t, want)
		if _, password, _ := strings.Cut(user, ":"); password != "" && strings.Contains(said, password) {
			t.Errorf("the output contains the password: %s", said)
		}
	}
}

// holdsNo checks that no file below a folder contains the secret.
func (w *world) holdsNo(t *testing.T, folder, secret string) {
	t.Helper()
	for _, file := range []string{"run.json", "trial-01-mixed/events.jsonl"} {
		if b := w.read(t, folder+"/"+file); strings.Contains(b, secret) {
			t.Errorf("%s contains the password", file)
		}
	}
}
