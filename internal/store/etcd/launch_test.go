package etcd

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

func twoMembers(dir string) store.LaunchSpec {
	s := storetest.TwoMemberSpec(dir)
	s.Self = "/bin/quorumbench"
	return s
}

func TestLaunchOfTheEmbeddedServer(t *testing.T) {
	dir := t.TempDir()
	s := twoMembers(dir)
	s.Settings = &Settings{SnapshotCount: 77, BackendBatchInterval: 7 * time.Millisecond, UnsafeNoFsync: true}
	l, err := New().Launch(s)
	if err != nil {
		t.Fatal(err)
	}
	if l.Synced || len(l.Notes) != 2 || l.StartTimeout <= 0 || len(l.Processes) != 2 {
		t.Errorf("launch %+v", l)
	}
	p := l.Processes[1]
	file := p.Args[3]
	if p.Path != s.Self || strings.Join(p.Args[:3], " ") != "member etcd --config" || p.Endpoint != "127.5.6.7:2005" {
		t.Errorf("process %+v", p)
	}
	// etcd itself must be able to read the configuration file.
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, p.Files[file], 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := embed.ConfigFromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if c.Name != "m2" || c.Dir != p.DataDir || c.SnapshotCount != 77 || c.BackendBatchInterval != 7*time.Millisecond ||
		!c.UnsafeNoFsync || c.QuotaBackendBytes != DefaultQuota || c.TickMs != 100 || c.ElectionMs != 1000 || !c.PreVote {
		t.Errorf("etcd read the configuration %+v", c)
	}
	if c.InitialCluster != "m1=http://127.5.6.7:2002,m2=http://127.5.6.7:2006" || c.ListenClientUrls[0].Host != p.Endpoint {
		t.Errorf("etcd's configuration has the initial cluster %s and the client URLs %v", c.InitialCluster, c.ListenClientUrls)
	}
}

func TestLaunchOfAnotherBinary(t *testing.T) {
	s := twoMembers("/data")
	s.Exec = "/opt/etcd"
	l, err := New().Launch(s)
	if err != nil {
		t.Fatal(err)
	}
	p := l.Processes[0]
	if !l.Synced || p.Path != "/opt/etcd" || len(p.Files) != 0 {
		t.Errorf("process %+v", p)
	}
	for _, want := range []string{
		"--name=m1", "--data-dir=/data/m1/data", "--listen-client-urls=http://127.5.6.7:2001", "--initial-cluster-state=new",
		"--initial-cluster=m1=http://127.5.6.7:2002,m2=http://127.5.6.7:2006", "--initial-cluster-token=c1",
	} {
		if !slices.Contains(p.Args, want) {
			t.Errorf("the arguments lack %s: %s", want, p.Args)
		}
	}
}

func TestLaunchRefuses(t *testing.T) {
	storetest.CheckLaunchRefuses(t, New(), twoMembers, map[string]func(*store.LaunchSpec){
		"no binary":    func(s *store.LaunchSpec) { s.Self = "" },
		"bad settings": func(s *store.LaunchSpec) { s.Settings = &Settings{LogLevel: "x"} },
	})
}
