package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/tools/benchpeers/internal/peer"
)

// storeName is the store that all peers can speak to.
const storeName = "etcd"

// members is the cluster's size.
const members = 3

// fsyncWrites is how many syncs tell how fast the disk is.
const fsyncWrites = 200

// bed is what the peers are measured on: one cluster and one null server.
type bed struct {
	host    host.Host
	claim   host.Claim
	dir     string // of temporary files and the members' data
	binary  string // quorumbench
	cluster *cluster.Cluster
	null    *peer.Server
	key     string // the one that is read
	version string // of the store
	sync    probe.FsyncResult
}

// newBed makes the folder for a bed. Orphans of runs that were killed go.
func newBed(o options) (*bed, error) {
	root := o.dataDir
	if root == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("there is no cache folder; name one with --data-dir: %w", err)
		}
		root = filepath.Join(cache, "quorumbench", "peers")
	}
	if _, err := cluster.CleanOrphans(root); err != nil {
		return nil, err
	}
	h := host.NewLocal(nil, nil)
	claim, err := h.Claim(root)
	if err != nil {
		return nil, err
	}
	return &bed{host: h, claim: claim, dir: claim.Path(), binary: o.binary}, nil
}

// prepare builds quorumbench if need be, starts the servers and writes the
// keys. The caller closes the bed whether or not it succeeds.
func (b *bed) prepare(ctx context.Context, needNull bool) (err error) {
	if b.sync, err = probe.Fsync(b.dir, fsyncWrites); err != nil {
		return err
	}
	if err := b.build(ctx); err != nil {
		return err
	}
	if err := b.start(ctx, needNull); err != nil {
		return err
	}
	endpoint, err := b.leader(ctx)
	if err != nil {
		return err
	}
	for _, s := range []peer.Space{readSpace(), putSpace()} {
		if err := b.preload(ctx, endpoint, s); err != nil {
			return err
		}
	}
	return nil
}

// build makes the program that is compared, unless it was given.
func (b *bed) build(ctx context.Context) error {
	if b.binary != "" {
		path, err := filepath.Abs(b.binary)
		b.binary = path
		return err
	}
	b.binary = filepath.Join(b.dir, "quorumbench")
	const what = "github.com/quorumbench/quorumbench/cmd/quorumbench"
	if text, err := exec.CommandContext(ctx, "go", "build", "-o", b.binary, what).CombinedOutput(); err != nil {
		return fmt.Errorf("quorumbench cannot be built (%w): %s", err, text)
	}
	return nil
}

func (b *bed) start(ctx context.Context, needNull bool) error {
	st, err := registry.Lookup(storeName)
	if err != nil {
		return err
	}
	b.cluster, err = cluster.Start(ctx, b.host, st, cluster.Spec{
		Name: "peers", Members: members, Self: b.binary, Dir: b.dir,
	})
	if err != nil {
		return fmt.Errorf("the cluster did not start: %w", err)
	}
	if needNull {
		b.null, err = peer.StartServer(ctx, b.binary, "null-server", "--protocol", storeName)
		if err != nil {
			return fmt.Errorf("the null server did not start: %w", err)
		}
	}
	return nil
}

// preload writes a key space with our own generator and looks at it with the
// official client.
func (b *bed) preload(ctx context.Context, endpoint string, s peer.Space) error {
	// A short run's verdict may be bad, which is an exit code; the keys are
	// what counts.
	text, _ := exec.CommandContext(ctx, b.binary, "bench", "put", "--endpoints", endpoint, "--sequential-keys",
		"--clients", "100", "--conns", "10", "--total", strconv.Itoa(s.Keys), "--key-space-size", strconv.Itoa(s.Keys),
		"--prefix", s.Prefix, "--key-size", strconv.Itoa(s.Digits), "--val-size", strconv.Itoa(valueSize)).CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := b.check(ctx, endpoint, s); err != nil {
		return fmt.Errorf("the keys below %q could not be written: %w\n%s", s.Prefix, err, text)
	}
	return nil
}

// check reads a key space and remembers its first key if it is the one to read.
func (b *bed) check(ctx context.Context, endpoint string, s peer.Space) error {
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: 5 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	answer, err := c.Get(ctx, s.Prefix, clientv3.WithPrefix(), clientv3.WithLimit(1))
	if err != nil {
		return err
	}
	if answer.Count != int64(s.Keys) {
		return fmt.Errorf("there are %d keys instead of %d", answer.Count, s.Keys)
	}
	if n := len(answer.Kvs[0].Value); n != valueSize {
		return fmt.Errorf("a value has %d bytes instead of %d", n, valueSize)
	}
	if s == readSpace() {
		b.key = string(answer.Kvs[0].Key)
	}
	return nil
}

// leader asks who leads now.
func (b *bed) leader(ctx context.Context) (string, error) {
	status, err := b.cluster.Status(ctx)
	if err != nil {
		return "", err
	}
	b.version = status.Version
	l := status.Leader()
	if l == nil {
		return "", errors.New("the cluster has no leader")
	}
	return l.Endpoint, nil
}

// work is a case on this bed. It is asked anew each time, since leadership can
// change.
func (b *bed) work(ctx context.Context, c peer.Case, seconds time.Duration) (peer.Work, error) {
	w := peer.Work{
		Case: c, Key: b.key, ReadSpace: readSpace(), PutSpace: putSpace(), ValueSize: valueSize,
		Warmup: seconds / 4, Dir: b.dir,
	}
	w.Window = seconds - w.Warmup
	if c.Null {
		w.Endpoint = b.null.Endpoint
		return w, nil
	}
	var err error
	w.Endpoint, err = b.leader(ctx)
	return w, err
}

// close stops the servers and removes every file.
func (b *bed) close() error {
	var errs []error
	if b.null != nil {
		b.null.Stop()
	}
	if b.cluster != nil {
		errs = append(errs, b.cluster.Stop(context.Background()))
	}
	return errors.Join(append(errs, b.claim.Release(false))...)
}
