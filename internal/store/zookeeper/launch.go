package zookeeper

import (
	"bytes"
	_ "embed" // the server's logging configuration
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/install"
)

// startTimeout bounds the time from start to a cluster with a leader. A healthy
// one takes three seconds on two idle cores, and a Java machine much longer on
// busy ones.
const startTimeout = 90 * time.Second

// The ports of a member, in the order of MemberPlace.Ports.
const (
	clientPort = iota
	peerPort
	electionPort
	metricsPort // Prometheus
	portCount
)

// mainClass is the server's program.
const mainClass = "org.apache.zookeeper.server.quorum.QuorumPeerMain"

//go:embed server/logback.xml
var logback []byte

// Launch implements store.Store. LaunchSpec.Exec is the folder of an installed
// server: its jars are in the folder lib there.
func (*Store) Launch(spec store.LaunchSpec) (store.Launch, error) {
	s, err := settings(spec.Settings)
	if err != nil {
		return store.Launch{}, err
	}
	if err := checkSpec(spec); err != nil {
		return store.Launch{}, err
	}
	if spec.Exec, err = folder(spec.Exec, s); err != nil {
		return store.Launch{}, err
	}
	l := store.Launch{StartTimeout: startTimeout, Synced: s.synced(), Notes: notes(s)}
	for i := range spec.Members {
		l.Processes = append(l.Processes, process(spec, i, s))
	}
	return l, nil
}

// folder is where the server's jars are: the folder that was given, or that of
// the installed server.
func folder(given string, s *Settings) (string, error) {
	source, err := New().Server("")
	if err != nil {
		return "", err
	}
	if s.Java != "" {
		source.Tools = nil // not the one that is looked for
	}
	dir, err := install.Executable(given, source)
	if err != nil || given == "" {
		return dir, err
	}
	if jars, _ := filepath.Glob(filepath.Join(dir, "lib", "zookeeper-*.jar")); len(jars) == 0 {
		return "", fmt.Errorf("%s has no lib/zookeeper-*.jar: give the folder of a ZooKeeper distribution, which holds its jars in lib", dir)
	}
	return dir, nil
}

func checkSpec(spec store.LaunchSpec) error {
	if len(spec.Members) == 0 {
		return errors.New("a ZooKeeper cluster needs at least one member")
	}
	for _, m := range spec.Members {
		if len(m.Ports) < portCount {
			return fmt.Errorf("ZooKeeper member %s needs four ports, for clients, peers, elections and metrics", m.Name)
		}
		if !filepath.IsAbs(m.Dir) {
			return fmt.Errorf("the folder of ZooKeeper member %s, %s, is not an absolute path", m.Name, m.Dir)
		}
	}
	return nil
}

func notes(s *Settings) []string {
	var out []string
	if s.Heap == "" {
		out = append(out, "each member's Java heap is "+DefaultHeap)
	}
	if s.GlobalOutstandingLimit == 0 {
		out = append(out, fmt.Sprintf("globalOutstandingLimit is %d instead of ZooKeeper's default of 1000, which throttles a thousand clients", DefaultOutstanding))
	}
	if s.MaxClientConnections == 0 {
		out = append(out, "maxClientCnxns is 0 (no limit) instead of ZooKeeper's default of 60 connections from one address")
	}
	if s.MaxBuffer > 0 {
		out = append(out, fmt.Sprintf("jute.maxbuffer is %d bytes instead of ZooKeeper's default of 1048575", s.MaxBuffer))
	}
	if !s.synced() {
		out = append(out, "forceSync is no: writes are acknowledged before they are on disk")
	}
	return out
}

func address(m store.MemberPlace, port int) string {
	return net.JoinHostPort(m.Host, strconv.Itoa(m.Ports[port]))
}

// process is member i, whose id in the cluster is i+1.
func process(spec store.LaunchSpec, i int, s *Settings) store.Process {
	m := spec.Members[i]
	conf, data := filepath.Join(m.Dir, "conf"), filepath.Join(m.Dir, "data")
	zooCfg := filepath.Join(conf, "zoo.cfg")
	// Our logback.xml comes first: without one the server logs at DEBUG.
	classPath := strings.Join([]string{conf, filepath.Join(spec.Exec, "lib", "*")}, string(filepath.ListSeparator))
	args := s.jvm(filepath.Join(m.Dir, "gc.log"))
	return store.Process{
		Name:     m.Name,
		Endpoint: address(m, clientPort),
		Path:     orDefault(s.Java, "java"),
		Args:     append(args, "-cp", classPath, mainClass, zooCfg),
		Dir:      m.Dir,
		DataDir:  data,
		LogFile:  filepath.Join(m.Dir, m.Name+".log"),
		Files: map[string][]byte{
			zooCfg:                             zooConfig(spec, i, data, s),
			filepath.Join(conf, "logback.xml"): logback,
			filepath.Join(data, "myid"):        fmt.Appendf(nil, "%d\n", i+1),
		},
	}
}

// zooConfig is a member's zoo.cfg. One member alone is a standalone server, as
// people run it; several name each other, and where clients find them.
func zooConfig(spec store.LaunchSpec, i int, data string, s *Settings) []byte {
	m := spec.Members[i]
	var b bytes.Buffer
	line := func(name string, value any) { fmt.Fprintf(&b, "%s=%v\n", name, value) }
	line("dataDir", filepath.ToSlash(data))
	for _, o := range s.options() {
		line(o.name, o.value)
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
			host(other), other.Ports[peerPort], other.Ports[electionPort], address(other, clientPort)))
	}
	return b.Bytes()
}

// host is a member's address as zoo.cfg has it: IPv6 in brackets.
func host(m store.MemberPlace) string {
	if strings.Contains(m.Host, ":") {
		return "[" + m.Host + "]"
	}
	return m.Host
}
