package zookeeper

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

func spec(t *testing.T, members int, settings any) store.LaunchSpec {
	t.Helper()
	dir := t.TempDir()
	s := store.LaunchSpec{Cluster: "test", Exec: filepath.Join(dir, "zk"), Settings: settings}
	jar := filepath.Join(s.Exec, "lib", "zookeeper-0.jar")
	if err := os.MkdirAll(filepath.Dir(jar), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(jar, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for i := range members {
		port := 2000 + 10*i
		s.Members = append(s.Members, kv.MemberPlace{
			Name: "m" + string(rune('1'+i)), Host: "127.0.0.1", Ports: []int{port, port + 1, port + 2, port + 3},
			Dir: filepath.Join(dir, "m"+string(rune('1'+i))),
		})
	}
	return s
}

// settingsWith returns settings with a java command that need not exist on the machine, because
// these tests start nothing.
func settingsWith(change func(*Settings)) *Settings {
	s := &Settings{Java: "/opt/java/bin/java"}
	if change != nil {
		change(s)
	}
	return s
}

func launched(t *testing.T, s store.LaunchSpec) store.Launch {
	t.Helper()
	l, err := New().Launch(s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLaunchOfThree(t *testing.T) {
	s := spec(t, 3, settingsWith(nil))
	l := launched(t, s)
	if len(l.Processes) != 3 || !l.Synced || l.StartTimeout != startTimeout {
		t.Fatalf("launch %+v", l)
	}
	p, dir := l.Processes[1], s.Members[1].Dir
	config := string(p.Files[filepath.Join(dir, "conf", "zoo.cfg")])
	for _, line := range []string{
		"dataDir=" + filepath.Join(dir, "data"), "tickTime=2000", "initLimit=10", "syncLimit=5", "maxClientCnxns=0",
		"globalOutstandingLimit=100000", "4lw.commands.whitelist=*", "admin.enableServer=false",
		"quorumListenOnAllIPs=false", "metricsProvider.httpHost=127.0.0.1", "metricsProvider.httpPort=2013",
		"server.1=127.0.0.1:2001:2002:participant;127.0.0.1:2000", "server.3=127.0.0.1:2021:2022:participant;127.0.0.1:2020",
	} {
		if !strings.Contains(config, line+"\n") {
			t.Errorf("zoo.cfg lacks %s:\n%s", line, config)
		}
	}
	if strings.Contains(config, "clientPort") || strings.Contains(config, "forceSync") {
		t.Errorf("zoo.cfg has settings that it must not have:\n%s", config)
	}
	if got := string(p.Files[filepath.Join(dir, "data", "myid")]); got != "2\n" {
		t.Errorf("myid is %q", got)
	}
	want := []string{
		"-Xms512m", "-Xmx512m", "-XX:+UseG1GC", "-XX:ParallelGCThreads=2", "-XX:ConcGCThreads=1",
		"-Xlog:gc*:file=" + filepath.Join(dir, "gc.log"), gcLogging, "-Dzookeeper.extendedTypesEnabled=true",
		"-cp", filepath.Join(dir, "conf") + ":" + filepath.Join(s.Exec, "lib", "*"), mainClass, filepath.Join(dir, "conf", "zoo.cfg"),
	}
	if !slices.Equal(p.Args, want) || p.Path != "/opt/java/bin/java" || p.Endpoint != "127.0.0.1:2010" {
		t.Errorf("process %+v", p)
	}
	if err := xml.Unmarshal(p.Files[filepath.Join(dir, "conf", "logback.xml")], new(any)); err != nil {
		t.Error(err)
	}
	if len(l.Notes) != 3 || !strings.Contains(strings.Join(l.Notes, "\n"), "globalOutstandingLimit is 100000") {
		t.Errorf("notes %q", l.Notes)
	}
}

func TestLaunchOfOne(t *testing.T) {
	s := spec(t, 1, settingsWith(nil))
	p := launched(t, s).Processes[0]
	config := string(p.Files[filepath.Join(p.Dir, "conf", "zoo.cfg")])
	if !strings.Contains(config, "clientPort=2000\n") || !strings.Contains(config, "clientPortAddress=127.0.0.1\n") || strings.Contains(config, "server.") {
		t.Errorf("zoo.cfg lacks the client's port or address:\n%s", config)
	}
}

func TestLaunchWithSettings(t *testing.T) {
	no := false
	l := launched(t, spec(t, 1, settingsWith(func(s *Settings) {
		*s = Settings{
			Java: s.Java, Heap: "4g", JVMOptions: []string{"-XX:+UseZGC"}, SnapCount: 10_000, ForceSync: &no, TickTime: 500,
			InitLimit: 20, SyncLimit: 8, MaxSessionTimeout: 60_000, PreAllocSize: 1024, MaxBuffer: 4 << 20, GlobalOutstandingLimit: 1000,
			MaxClientConnections: 60, Properties: map[string]string{"zookeeper.commitProcessor.numWorkerThreads": "4"},
		}
	})))
	p := l.Processes[0]
	args := strings.Join(p.Args, " ")
	for _, want := range []string{"-Xmx4g -XX:+UseZGC -Xlog", "-Djute.maxbuffer=4194304", "-Dzookeeper.commitProcessor.numWorkerThreads=4"} {
		if !strings.Contains(args, want) {
			t.Errorf("the arguments lack %s: %s", want, args)
		}
	}
	config := string(p.Files[filepath.Join(p.Dir, "conf", "zoo.cfg")])
	for _, want := range []string{
		"tickTime=500", "initLimit=20", "syncLimit=8", "maxClientCnxns=60", "globalOutstandingLimit=1000", "snapCount=10000",
		"preAllocSize=1024", "maxSessionTimeout=60000", "forceSync=no",
	} {
		if !strings.Contains(config, want+"\n") {
			t.Errorf("zoo.cfg lacks %s:\n%s", want, config)
		}
	}
	if notes := strings.Join(l.Notes, "\n"); l.Synced || len(l.Notes) != 2 || !strings.Contains(notes, "forceSync is no") || !strings.Contains(notes, "jute.maxbuffer is 4194304") {
		t.Errorf("the launch reports synced %v and the notes %q", l.Synced, l.Notes)
	}
}

func TestSettingsFromAFile(t *testing.T) {
	decode := func(text string) func(any) error {
		return func(into any) error { return yaml.UnmarshalWithOptions([]byte(text), into, yaml.Strict()) }
	}
	v, err := New().DecodeSettings(decode("heap: 1g\nforce-sync: false\nsnap-count: 5000\nproperties:\n  a.b: c\n"))
	if s, ok := v.(*Settings); err != nil || !ok || s.Heap != "1g" || s.synced() || s.SnapCount != 5000 || s.Properties["a.b"] != "c" {
		t.Errorf("%+v, %v", v, err)
	}
	if v, err := New().DecodeSettings(nil); err != nil || !v.(*Settings).synced() {
		t.Errorf("%+v, %v", v, err)
	}
	for text, want := range map[string]string{
		"heap: lots":                   `heap "lots" is not a size`,
		"heap: 0m":                     "is not a size",
		"tick-time: -1":                "tick-time must not be negative",
		"snap-count: 1":                "snap-count must be at least 2",
		"jvm-options: [Xmx3g]":         `"Xmx3g", which is not an option`,
		"properties: {\"a b\": \"c\"}": "cannot be a property's name",
		"heapp: 1g":                    "heapp",
	} {
		if _, err := New().DecodeSettings(decode(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestLaunchRefusesImpossibleSettings(t *testing.T) {
	for want, change := range map[string]func(*store.LaunchSpec){
		"at least one member":      func(s *store.LaunchSpec) { s.Members = nil },
		"needs 4 ports":            func(s *store.LaunchSpec) { s.Members[0].Ports = s.Members[0].Ports[:3] },
		"is not an absolute path":  func(s *store.LaunchSpec) { s.Members[0].Dir = "m1" },
		"want *zookeeper.Settings": func(s *store.LaunchSpec) { s.Settings = 7 },
	} {
		s := spec(t, 1, settingsWith(nil))
		change(&s)
		if _, err := New().Launch(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestFolderWithoutAServerIsRefused(t *testing.T) {
	s := spec(t, 1, settingsWith(nil))
	s.Exec = t.TempDir()
	want := s.Exec + " contains no lib/zookeeper-*.jar; specify the folder of a ZooKeeper distribution, which contains its jars in lib"
	if _, err := New().Launch(s); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestServerIsNotInstalled(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	s := spec(t, 1, settingsWith(nil))
	s.Exec = ""
	_, err := New().Launch(s)
	if want := "zookeeper's server is not installed: run quorumbench stores install zookeeper"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := New().Server("1.2.3"); err == nil || !strings.Contains(err.Error(), "3.9.5, 3.9.4") {
		t.Error(err)
	}
	source, err := New().Server("v3.9.4")
	if err != nil || source.Version != "3.9.4" || !slices.Contains(source.Args, "-Dzookeeper.version=3.9.4") || len(source.Check.Sums) != 3 {
		t.Errorf("%+v, %v", source, err)
	}
}

func TestClientAddresses(t *testing.T) {
	for config, want := range map[string]string{
		"a=b\nserver.1=h1:1:2:participant;10.0.0.1:2181\nserver.2=h2:1:2;h2:2182\nversion=0":  "10.0.0.1:2181 h2:2182",
		"server.1=h1:1:2;2181\nserver.2=h2:1:2:observer;0.0.0.0:2182":                         "h1:2181 h2:2182",
		"server.10=h:1:2;h:10\nserver.9=h:1:2;h:9":                                            "h:9 h:10",
		"server.1=[fd00::1]:1:2:participant;[fd00::9]:2181\nserver.2=[fd00::2]:1:2;h2:2182":   "[fd00::9]:2181 h2:2182",
		"server.1=[fd00::1]:1:2;2181\nserver.2=[fd00::2]:1:2:observer;[0:0:0:0:0:0:0:0]:2182": "[fd00::1]:2181 [fd00::2]:2182",
		"server.1=h1:2888:3888": "",
		"":                      "",
	} {
		if got := strings.Join(store.Endpoints(clientAddresses(config)), " "); got != want {
			t.Errorf("%q: %q, want %q", config, got, want)
		}
	}
}

func TestPeerAddresses(t *testing.T) {
	for config, want := range map[string]string{
		"serverId=1\nserver.2=h2:1:2:participant\nserver.1=h1:3:4:observer;h1:2181":    "h1:3 h2:1",
		"server.1=[fd00::1]:2888:3888:participant\nserver.2=[fd00::2]:2888:3888":       "[fd00::1]:2888 [fd00::2]:2888",
		"server.1=0.0.0.0:2888:3888\nserver.2=[0:0:0:0:0:0:0:0]:2888:3888\nserver.3=h": "",
	} {
		if got := strings.Join(peerAddresses(config), " "); got != want {
			t.Errorf("%q: %q, want %q", config, got, want)
		}
	}
}
