package etcdv2

import (
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
// one takes two to three seconds on two cores.
const startTimeout = 60 * time.Second

// Launch implements store.Store. Without Exec the server is the installed one.
// Each member is an etcd up to 3.5, with its
// ordinary flags.
func (st *Store) Launch(spec store.LaunchSpec) (store.Launch, error) {
	s, err := settings(spec.Settings)
	if err != nil {
		return store.Launch{}, err
	}
	if err := checkSpec(spec); err != nil {
		return store.Launch{}, err
	}
	source, err := st.Server("")
	if err != nil {
		return store.Launch{}, err
	}
	if spec.Exec, err = install.Executable(spec.Exec, source); err != nil {
		return store.Launch{}, err
	}
	l := store.Launch{StartTimeout: startTimeout, Synced: !s.UnsafeNoFsync}
	if s.UnsafeNoFsync {
		l.Notes = append(l.Notes, "unsafe-no-fsync is set: writes are acknowledged before they are on disk")
	}
	for _, m := range spec.Members {
		l.Processes = append(l.Processes, process(spec, m, s))
	}
	return l, nil
}

func checkSpec(spec store.LaunchSpec) error {
	if len(spec.Members) == 0 {
		return errors.New("an etcd cluster needs at least one member")
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

func clientAddress(m store.MemberPlace) string {
	return net.JoinHostPort(m.Host, strconv.Itoa(m.Ports[0]))
}

func peerURL(m store.MemberPlace) string {
	return "http://" + net.JoinHostPort(m.Host, strconv.Itoa(m.Ports[1]))
}

func process(spec store.LaunchSpec, m store.MemberPlace, s *Settings) store.Process {
	p := store.Process{
		Name:     m.Name,
		Endpoint: clientAddress(m),
		Path:     spec.Exec,
		Dir:      m.Dir,
		DataDir:  filepath.Join(m.Dir, "data"),
		LogFile:  filepath.Join(m.Dir, m.Name+".log"),
	}
	peers := make([]string, len(spec.Members))
	for i, other := range spec.Members {
		peers[i] = other.Name + "=" + peerURL(other)
	}
	client, peer := "http://"+clientAddress(m), peerURL(m)
	p.Args = []string{
		"--enable-v2=true",
		"--name=" + m.Name,
		"--data-dir=" + p.DataDir,
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=" + strings.Join(peers, ","),
		"--initial-cluster-token=" + spec.Cluster,
		"--initial-cluster-state=new",
		"--logger=zap",
	}
	p.Args = append(p.Args, s.flags()...)
	return p
}
