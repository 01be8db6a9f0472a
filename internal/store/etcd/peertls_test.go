package etcd

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// TestPeersUseTLS checks the flags and the configuration file of members that use TLS with each
// other. A member must use its certificate both as a client and as a server, must require a
// certificate from other members, and must have https addresses.
func TestPeersUseTLS(t *testing.T) {
	at := kv.MemberPlace{Name: "m1", Host: "127.0.0.1", Ports: []int{1, 2, 3, 4}, Dir: "/d/m1", PeerTLS: true}
	spec := store.LaunchSpec{
		Cluster: "c", Members: []kv.MemberPlace{at}, Self: "/self", Settings: &Settings{TLS: true, PeerTLS: true},
		Credentials: map[string]kv.Credentials{"m1": {Certificate: []byte("c"), Key: []byte("k"), Authority: []byte("a")}},
	}
	l, err := New().Launch(spec)
	if err != nil {
		t.Fatal(err)
	}
	files := l.Processes[0].Files
	if string(files["/d/m1/tls/ca.crt"]) != "a" || string(files["/d/m1/tls/member.crt"]) != "c" || string(files["/d/m1/tls/member.key"]) != "k" {
		t.Errorf("the files are %v", files)
	}
	var config struct {
		Peer    map[string]any `json:"peer-transport-security"`
		Client  map[string]any `json:"client-transport-security"`
		Cluster string         `json:"initial-cluster"`
	}
	if err := json.Unmarshal(files["/d/m1/etcd.json"], &config); err != nil {
		t.Fatal(err)
	}
	if config.Cluster != "m1=https://127.0.0.1:2" || config.Peer["trusted-ca-file"] != "/d/m1/tls/ca.crt" || config.Peer["client-cert-auth"] != true || config.Peer["cert-file"] != "/d/m1/tls/member.crt" || config.Client["key-file"] != "/d/m1/tls/member.key" || len(config.Client) != 2 {
		t.Errorf("the configuration is %s", files["/d/m1/etcd.json"])
	}
	spec.Exec = "/etcd"
	if l, err = New().Launch(spec); err != nil {
		t.Fatal(err)
	}
	if flags := strings.Join(l.Processes[0].Args, " "); !strings.Contains(flags, "--peer-cert-file=/d/m1/tls/member.crt") || !strings.Contains(flags, "--peer-client-cert-auth=true") || !strings.Contains(flags, "--listen-peer-urls=https://") {
		t.Errorf("the flags are %s", flags)
	}
	if err := (&Settings{PeerTLS: true}).Check(); err == nil || err.Error() != "etcd's peer-tls requires tls: true, because a member uses the same certificate for clients and for other members" {
		t.Errorf("Check of peer-tls without tls returned: %v", err)
	}
}
