package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store/registry"
)

// An agent writes a member's two credential files only in folders that the agent's controller has
// claimed.
func TestCredentialsAreRenewed(t *testing.T) {
	s, to := served(t, nil)
	s.launcher = &launcher{stores: registry.Lookup, self: ownBinary, folder: s.folder}
	h := dialled(t, to).Host()
	ctx := t.Context()
	claim, err := h.Claim(ctx, string(s.folder))
	if err != nil {
		t.Fatal(err)
	}
	asked := func(name, dir string) host.Launch {
		return host.Launch{
			Store: name, Process: "m1", Cluster: "run-1", Members: []kv.MemberPlace{{Name: "m1", Host: "127.0.0.1", Ports: []int{1, 2, 3, 4}, Dir: dir}},
			Credentials: map[string]kv.Credentials{"m1": {Certificate: []byte("certificate"), Key: []byte("key")}},
		}
	}
	dir := filepath.Join(claim.Path(), "m1")
	if err := h.MakeDir(ctx, filepath.Join(dir, "tls")); err != nil {
		t.Fatal(err)
	}
	renew := h.(host.Remote).Renew
	if err := renew(ctx, asked("etcd", dir)); err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadDir(dir)
	certificate, _ := os.ReadFile(filepath.Join(dir, "tls", "member.crt"))
	key, _ := os.ReadFile(filepath.Join(dir, "tls", "member.key"))
	if err != nil || len(all) != 1 || string(certificate) != "certificate" || string(key) != "key" {
		t.Errorf("the agent wrote the certificate %q and the key %q; the folder contains %v, %v", certificate, key, all, err)
	}
	plain, elsewhere := asked("etcd", dir), asked("etcd", filepath.Join(string(s.folder), "m1"))
	plain.Credentials = nil
	for want, of := range map[string]host.Launch{
		"it does not use TLS":                  plain,
		"not in a data folder of this session": elsewhere,
		"no member \"m1\" that can use new":    asked("zookeeper", dir),
	} {
		if err := renew(ctx, of); err == nil || !strings.Contains(err.Error(), want) && of.Store == "etcd" {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := os.Stat(elsewhere.Members[0].Dir); !os.IsNotExist(err) {
		t.Errorf("the agent wrote to a folder that was not claimed: %v", err)
	}
}
