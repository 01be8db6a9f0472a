package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/install"
	"github.com/quorumbench/quorumbench/internal/store/registry"
)

// testbed contains everything that the peers need for cases of one store: a cluster, and null
// servers if cases need them.
type testbed struct {
	*workspace
	store   store.Store
	cluster *cluster.Cluster
	// The tmpfs for the data of a member that is replaced for each measurement, or nil if no case
	// needs such a member.
	tmpfs       *tmpfs
	nullServers map[string]*Server // by script
	key         string             // the key that peers read
	version     string             // the store's version
}

// newTestbed creates the testbed for a key. If the testbed cannot be created on this machine, the
// error states why, for example because a server is not installed.
func newTestbed(p *workspace, g testbedKey) (*testbed, error) {
	st, err := registry.Lookup(g.store)
	if err != nil {
		return nil, err
	}
	source, err := st.Server("")
	if err != nil {
		return nil, err
	}
	if source.Installable() {
		if _, err := install.Executable("", source); err != nil {
			return nil, err
		}
	}
	b := &testbed{workspace: p, store: st, nullServers: map[string]*Server{}}
	if g.tmpfs {
		b.tmpfs, err = newTmpfs(p.host)
	}
	return b, err
}

// prepare starts the servers that the cases need, and writes the keys. The caller must close the
// testbed even if prepare fails.
func (b *testbed) prepare(ctx context.Context, cases []Case) (err error) {
	for _, c := range cases {
		if !c.NullServer || b.nullServers[c.Script] != nil {
			continue
		}
		server, err := StartServer(ctx, b.binary, "null-server", "--protocol", b.store.Name(), "--script", c.Script)
		if err != nil {
			return fmt.Errorf("the null server of %s did not start: %w", b.store.Name(), err)
		}
		b.nullServers[c.Script] = server
	}
	if b.tmpfs != nil {
		return b.restartMember(ctx)
	}
	if !slices.ContainsFunc(cases, func(c Case) bool { return !c.NullServer }) {
		return nil
	}
	b.cluster, err = cluster.Start(ctx, b.store, cluster.Spec{
		Name: "peers", Members: b.members, Hosts: []host.Host{b.host}, Self: b.binary, Dir: b.dir,
	})
	if err != nil {
		return fmt.Errorf("the cluster of %s did not start: %w", b.store.Name(), err)
	}
	endpoint, err := b.leader(ctx)
	if err != nil {
		return err
	}
	spaces := []Space{readSpace()}
	if slices.ContainsFunc(cases, func(c Case) bool { return c.Kind == kv.Put }) {
		spaces = append(spaces, putSpace())
	}
	for _, s := range spaces {
		if err := b.preload(ctx, endpoint, s); err != nil {
			return err
		}
	}
	return nil
}

// preload writes a key space with quorumbench's generator, and checks the keys with an independent
// client.
func (b *testbed) preload(ctx context.Context, endpoint string, s Space) error {
	// The exit code is ignored, because only the keys matter. It may report a bad verdict because
	// the run is short.
	text, _ := exec.CommandContext(ctx, b.binary, "bench", "put", "--store", b.store.Name(), "--endpoints", endpoint,
		"--sequential-keys", "--clients", "100", "--conns", "10",
		"--total", strconv.Itoa(s.Keys), "--key-space-size", strconv.Itoa(s.Keys), "--prefix", s.Prefix,
		"--key-size", strconv.Itoa(s.Digits), "--val-size", strconv.Itoa(valueSize)).CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	key, err := checkKeys(ctx, b.store.Name(), endpoint, s)
	if err != nil {
		return fmt.Errorf("the keys below %q could not be written to %s: %w\n%s", s.Prefix, b.store.Name(), err, text)
	}
	if s == readSpace() {
		b.key = key
	}
	return nil
}

// The wait for an election: the interval between attempts to find the leader, and the maximum wait.
const (
	leaderPoll    = 200 * time.Millisecond
	leaderTimeout = 30 * time.Second
)

// leader returns the endpoint of the current leader.
func (b *testbed) leader(ctx context.Context) (string, error) {
	limited, cancel := context.WithTimeout(ctx, leaderTimeout)
	defer cancel()
	again := time.NewTicker(leaderPoll)
	defer again.Stop()
	for {
		status, err := b.cluster.Status(limited)
		if l := status.Leader(); err == nil && l != nil {
			b.version = status.Version
			return l.Endpoint, nil
		}
		select {
		case <-again.C:
		case <-limited.Done():
			if ctx.Err() != nil {
				return "", ctx.Err()
			}
			return "", fmt.Errorf("%s has had no leader for %v", b.store.Name(), leaderTimeout)
		}
	}
}

// title returns the store's name, with its version if a server runs.
func (b *testbed) title() string {
	if b.version == "" {
		return b.store.Name()
	}
	return b.store.Name() + " " + b.version
}

// work returns the work for a case on this testbed. It must be called before each measurement,
// because the leader can change.
func (b *testbed) work(ctx context.Context, c Case, seconds time.Duration) (Work, error) {
	w := Work{
		Case: c, Key: b.key, ReadSpace: readSpace(), PutSpace: putSpace(), ValueSize: valueSize,
		Warmup: seconds / 4, Dir: b.dir,
	}
	w.Window = seconds - w.Warmup
	if c.NullServer {
		w.Endpoint = b.nullServers[c.Script].Endpoint
		return w, nil
	}
	if b.tmpfs != nil {
		if err := b.restartMember(ctx); err != nil {
			return w, err
		}
	}
	var err error
	w.Endpoint, err = b.leader(ctx)
	return w, err
}

// close stops the servers and removes their data.
func (b *testbed) close() (err error) {
	for _, server := range b.nullServers {
		server.Stop()
	}
	if b.cluster != nil {
		err = b.cluster.Stop(context.Background())
	}
	if b.tmpfs != nil {
		err = errors.Join(err, b.tmpfs.close())
	}
	return err
}
