package etcd

import (
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
)

// startTimeout bounds the time from start to a cluster with a leader. A healthy
// one takes two to three seconds on two cores.
const startTimeout = 60 * time.Second

// Launch implements store.Store. By default each member is our own binary with
// the arguments `member etcd --config FILE`; with Exec it is that binary with
// etcd's ordinary flags.
func (*Store) Launch(spec store.LaunchSpec) (store.Launch, error) {
	s, err := settings(spec.Settings)
	if err != nil {
		return store.Launch{}, err
	}
	if err := checkSpec(spec); err != nil {
		return store.Launch{}, err
	}
	l := store.Launch{StartTimeout: startTimeout, Synced: !s.UnsafeNoFsync, Notes: notes(s)}
	for _, place := range spec.Members {
		p, err := process(spec, place, s)
		if err != nil {
			return store.Launch{}, err
		}
		l.Processes = append(l.Processes, p)
	}
	return l, nil
}

func checkSpec(spec store.LaunchSpec) error {
	if len(spec.Members) == 0 {
		return fmt.Errorf("an etcd cluster needs at least one member")
	}
	if spec.Exec == "" && spec.Self == "" {
		return fmt.Errorf("the embedded etcd needs the path of our own binary")
	}
	for _, m := range spec.Members {
		if len(m.Ports) < 2 {
			return fmt.Errorf("etcd member %s needs two ports, for clients and for peers", m.Name)
		}
		if !filepath.IsAbs(m.Dir) {
			return fmt.Errorf("the folder of etcd member %s, %s, is not an absolute path", m.Name, m.Dir)
		}
	}
	return nil
}

func notes(s *Settings) []string {
	var out []string
	if s.QuotaBackendBytes == 0 {
		out = append(out, fmt.Sprintf("quota-backend-bytes is %d GiB instead of etcd's default of 2 GiB", DefaultQuota>>30))
	}
	if s.UnsafeNoFsync {
		out = append(out, "unsafe-no-fsync is set: writes are acknowledged before they are on disk")
	}
	return out
}

func clientAddress(m store.MemberPlace) string {
	return net.JoinHostPort(m.Host, strconv.Itoa(m.Ports[0]))
}

func peerURL(m store.MemberPlace) string {
	return "http://" + net.JoinHostPort(m.Host, strconv.Itoa(m.Ports[1]))
}

func process(spec store.LaunchSpec, m store.MemberPlace, s *Settings) (store.Process, error) {
	p := store.Process{
		Name:     m.Name,
		Endpoint: clientAddress(m),
		Path:     spec.Exec,
		Dir:      m.Dir,
		DataDir:  filepath.Join(m.Dir, "data"),
		LogFile:  filepath.Join(m.Dir, m.Name+".log"),
	}
	opts := append(memberOptions(spec, m, p.DataDir), s.options()...)
	if spec.Exec != "" {
		for _, o := range opts {
			p.Args = append(p.Args, o.flag())
		}
		return p, nil
	}
	// The configuration file is etcd's own format, in which JSON is YAML and
	// durations are nanoseconds, as encoding/json writes them.
	config := make(map[string]any, len(opts))
	for _, o := range opts {
		config[o.name] = o.value
	}
	contents, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return p, fmt.Errorf("the configuration of etcd member %s cannot be written as JSON: %w", m.Name, err)
	}
	file := filepath.Join(m.Dir, "etcd.json")
	p.Path = spec.Self
	p.Args = []string{"member", Name, "--config", file}
	p.Files = map[string][]byte{file: append(contents, '\n')}
	return p, nil
}

// memberOptions are those that make a member one of this cluster.
func memberOptions(spec store.LaunchSpec, m store.MemberPlace, dataDir string) []option {
	peers := make([]string, len(spec.Members))
	for i, other := range spec.Members {
		peers[i] = other.Name + "=" + peerURL(other)
	}
	client, peer := "http://"+clientAddress(m), peerURL(m)
	return []option{
		{"name", m.Name},
		{"data-dir", dataDir},
		{"listen-client-urls", client},
		{"advertise-client-urls", client},
		{"listen-peer-urls", peer},
		{"initial-advertise-peer-urls", peer},
		{"initial-cluster", strings.Join(peers, ",")},
		{"initial-cluster-token", spec.Cluster},
		{"initial-cluster-state", "new"},
		{"logger", "zap"},
	}
}
