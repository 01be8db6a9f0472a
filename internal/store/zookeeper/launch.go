package zookeeper

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/install"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// startTimeout limits the time from the start of a cluster until it has a leader. A healthy cluster
// needs three seconds on two idle cores, but a Java virtual machine starts much more slowly on busy
// cores.
const startTimeout = 90 * time.Second

// Indexes of a member's ports in MemberPlace.Ports.
const (
	clientPort = iota
	peerPort
	electionPort
	metricsPort // Prometheus
)

// mainClass is the main class of the server.
const mainClass = "org.apache.zookeeper.server.quorum.QuorumPeerMain"

//go:embed server/logback.xml
var logback []byte

// Launch implements store.Store. LaunchSpec.Exec is the folder of an installed server, which has
// its jars in the subfolder lib.
func (*Store) Launch(spec store.LaunchSpec) (store.Launch, error) {
	s, err := store.SettingsOf[Settings](spec.Settings)
	if err != nil {
		return store.Launch{}, err
	}
	if err := spec.Check("ZooKeeper"); err != nil {
		return store.Launch{}, err
	}
	if spec.Exec, err = folder(&spec, s); err != nil {
		return store.Launch{}, err
	}
	l := store.Launch{StartTimeout: startTimeout, Synced: s.synced(), Notes: notes(s)}
	for i := range spec.Members {
		l.Processes = append(l.Processes, process(spec, i, s))
	}
	return l, nil
}

// folder returns the folder that contains the server's jars. This is the folder that the user
// specified or, if there is none, the folder of the installed server.
func folder(spec *store.LaunchSpec, s *Settings) (string, error) {
	source, err := New().Server("")
	if err != nil {
		return "", err
	}
	if s.Java != "" {
		source.Tools = nil // the settings already specify the java command, so do not search for one
	}
	dir, err := install.ExecutableForLaunch(spec, source)
	if err != nil || spec.Exec == "" || spec.Remote {
		return dir, err
	}
	if jars, _ := filepath.Glob(filepath.Join(dir, "lib", "zookeeper-*.jar")); len(jars) == 0 {
		return "", fmt.Errorf("%s contains no lib/zookeeper-*.jar; specify the folder of a ZooKeeper distribution, which contains its jars in lib", dir)
	}
	return dir, nil
}

func notes(s *Settings) []string {
	var out []string
	if s.Heap == "" {
		out = append(out, "each member's Java heap is "+DefaultHeap)
	}
	if s.GlobalOutstandingLimit == 0 {
		out = append(out, fmt.Sprintf("globalOutstandingLimit is %d instead of ZooKeeper's default of 1000; the default would throttle a thousand clients", DefaultOutstanding))
	}
	if s.MaxClientConnections == 0 {
		out = append(out, "maxClientCnxns is 0 (no limit) instead of ZooKeeper's default of 60 connections from one address")
	}
	if s.MaxBuffer > 0 {
		out = append(out, fmt.Sprintf("jute.maxbuffer is %d bytes instead of ZooKeeper's default of %d", s.MaxBuffer, jute.DefaultMaxBuffer))
	}
	if !s.synced() {
		out = append(out, "forceSync is no: writes are acknowledged before they are on disk")
	}
	return out
}

// process describes the process of member i (counted from 0). Its number in the cluster is i+1.
func process(spec store.LaunchSpec, i int, s *Settings) store.Process {
	p := store.ProcessAt(spec.Members[i], cmp.Or(s.Java, "java"))
	conf := filepath.Join(p.Dir, "conf")
	zooCfg := filepath.Join(conf, "zoo.cfg")
	// The folder conf precedes the jars in the class path, so that the server finds our
	// logback.xml. Without a logback.xml the server logs at level DEBUG.
	classPath := strings.Join([]string{conf, filepath.Join(spec.Exec, "lib", "*")}, string(filepath.ListSeparator))
	p.Args = append(s.jvm(filepath.Join(p.Dir, "gc.log")), "-cp", classPath, mainClass, zooCfg)
	p.Files = map[string][]byte{
		zooCfg:                             zooConfig(spec, i, p.DataDir, s),
		filepath.Join(conf, "logback.xml"): logback,
		filepath.Join(p.DataDir, "myid"):   fmt.Appendf(nil, "%d\n", i+1),
	}
	return p
}

// zooConfig returns a member's zoo.cfg. A single member is configured as a standalone server, which
// is the usual deployment. If there are several members, the file lists all members with their
// client addresses.
func zooConfig(spec store.LaunchSpec, i int, data string, s *Settings) []byte {
	m := spec.Members[i]
	var b bytes.Buffer
	line := func(name string, value any) { fmt.Fprintf(&b, "%s=%v\n", name, value) }
	line("dataDir", filepath.ToSlash(data))
	line("tickTime", cmp.Or(s.TickTime, DefaultTick))
	line("initLimit", cmp.Or(s.InitLimit, defaultInitLimit))
	line("syncLimit", cmp.Or(s.SyncLimit, defaultSyncLimit))
	line("maxClientCnxns", s.MaxClientConnections)
	line("globalOutstandingLimit", cmp.Or(s.GlobalOutstandingLimit, DefaultOutstanding))
	for _, o := range []store.Setting{{Name: "snapCount", Value: s.SnapCount}, {Name: "preAllocSize", Value: s.PreAllocSize}, {Name: "maxSessionTimeout", Value: s.MaxSessionTimeout}} {
		if o.Value != 0 {
			line(o.Name, o.Value)
		}
	}
	if !s.synced() {
		line("forceSync", "no")
	}
	line("4lw.commands.whitelist", "*")
	line("admin.enableServer", false)
	line("metricsProvider.className", "org.apache.zookeeper.metrics.prometheus.PrometheusMetricsProvider")
	line("metricsProvider.httpHost", m.Host)
	line("metricsProvider.httpPort", m.Ports[metricsPort])
	if len(spec.Members) == 1 {
		line("clientPortAddress", m.Host)
		line("clientPort", m.Ports[clientPort])
		return b.Bytes()
	}
	line("quorumListenOnAllIPs", false)
	for k, other := range spec.Members {
		line("server."+strconv.Itoa(k+1), fmt.Sprintf("%s:%d:%d:participant;%s",
			host(other), other.Ports[peerPort], other.Ports[electionPort], other.Address(clientPort)))
	}
	return b.Bytes()
}

// host returns a member's address in the syntax of zoo.cfg, with IPv6 addresses in brackets.
func host(m kv.MemberPlace) string {
	if strings.Contains(m.Host, ":") {
		return "[" + m.Host + "]"
	}
	return m.Host
}

// serverFiles are the input for building the server.
//
//go:embed server/pom.xml
var serverFiles embed.FS

// sums contains the checksums of the server's own jars, by version. Only these versions can be
// installed.
var sums = map[string]map[string]string{
	"3.9.5": {
		"lib/zookeeper-3.9.5.jar":      "936d025db1a85f085edea25048c3f5b3de5fc29329c371a10925e3b78b0b38a0",
		"lib/zookeeper-jute-3.9.5.jar": "abcbc7f9d6c493daa118da6fa3061a201e2c521217526e8535adfb56b629e52a",
		metricsJar:                     metricsSum,
	},
	"3.9.4": {
		"lib/zookeeper-3.9.4.jar":      "7bb3bb38bbddbc71424c59a7a0b170a1b2147313a84c972225ab0568dab513bf",
		"lib/zookeeper-jute-3.9.4.jar": "bd9750935add09b6cb920f7bcf0fa7b9a8165c45cdafd8ee1fc6808c46ec9094",
		metricsJar:                     metricsSum,
	},
}

const (
	metricsJar = "lib/zookeeper-prometheus-metrics-3.9.4.jar"
	metricsSum = "51853ff241cbb6a8a6249138ed941644fb01035f82b322915f554bdf06f22afa"
)

// Server implements store.Store. To use another version, a user specifies the folder of that
// version, which contains its jars in lib.
func (*Store) Server(version string) (store.ServerSource, error) {
	s, err := store.ServerSource{
		Store: Name, Versions: []string{"3.9.5", "3.9.4"}, Kind: store.Maven,
		Files: serverFiles, Args: []string{"-Dzookeeper.version={version}"},
		Tools: []store.Tool{
			{
				Name: "java", NeededToRun: true,
				MissingMessage: "ZooKeeper needs Java 11 or newer; install Java, for example Debian's package default-jre-headless",
			},
			{
				Name:           "mvn",
				MissingMessage: "to install ZooKeeper, quorumbench needs Maven; install Maven, for example Debian's package maven, or specify with --exec a folder that contains the server's jars in lib",
			},
		},
		Check: store.ServerCheck{RequiredFiles: []string{
			"lib/zookeeper-{version}.jar", "lib/zookeeper-jute-{version}.jar", metricsJar, "lib/logback-classic-1.3.15.jar",
		}},
		License: "Apache License 2.0",
	}.Pick(version)
	s.Check.Sums = sums[s.Version]
	return s, err
}
