package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
)

// tmpfsRoom is the number of bytes that must be free on a tmpfs. This is enough for the database,
// its log and its snapshots after one minute of the largest check that runs on a tmpfs.
const tmpfsRoom = 6 << 30

// tmpfsName is the name of the file system type that keeps its files in memory.
const tmpfsName = "tmpfs"

// tmpfs is a private folder in memory.
type tmpfs struct {
	root  string
	claim host.Claim
}

// newTmpfs creates a folder on the first writable tmpfs that has enough space.
func newTmpfs(h host.Host) (*tmpfs, error) {
	found := false
	for _, dir := range []string{"/dev/shm", os.Getenv("XDG_RUNTIME_DIR"), os.TempDir()} {
		if dir == "" || !isOnTmpfs(dir) {
			continue
		}
		found = true
		if freeBytes(dir) < tmpfsRoom {
			continue
		}
		root := filepath.Join(dir, fmt.Sprintf("quorumbench-peers-%d", os.Getuid()))
		if _, err := host.CleanOrphans(root, host.OrphanDepth); err != nil {
			return nil, err
		}
		claim, err := h.Claim(context.Background(), root)
		if err != nil {
			return nil, err
		}
		return &tmpfs{root: root, claim: claim}, nil
	}
	if found {
		return nil, fmt.Errorf("no tmpfs on this machine has %d GiB free", tmpfsRoom>>30)
	}
	return nil, errors.New("benchpeers needs a writable tmpfs, such as /dev/shm, but found none")
}

// isOnTmpfs reports whether a folder is on a writable tmpfs.
func isOnTmpfs(dir string) bool {
	all, err := host.NewLocal(nil, nil).Fsync(context.Background(), []string{dir}, 1)
	return err == nil && all[0].FileSystem == tmpfsName
}

// freeBytes returns how many bytes can be written to the file system of a folder.
func freeBytes(dir string) uint64 {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return 0
	}
	return s.Bavail * uint64(s.Bsize)
}

// close removes the created folders.
func (t *tmpfs) close() error {
	err := t.claim.Release(context.Background())
	_ = os.Remove(t.root) // fails if another process of this program uses the folder
	return err
}

// restartMember stops the member on the tmpfs, if one is running, and starts a new member, so that
// each measurement begins with an empty database.
func (b *testbed) restartMember(ctx context.Context) (err error) {
	if old := b.cluster; old != nil {
		b.cluster = nil
		if err := old.Stop(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
	b.cluster, err = cluster.Start(ctx, b.store, cluster.Spec{
		Name: "peers", Members: 1, Hosts: []host.Host{b.host}, Self: b.binary, Dir: b.tmpfs.claim.Path(),
	})
	if err != nil {
		return fmt.Errorf("a member of %s on tmpfs did not start: %w", b.store.Name(), err)
	}
	_, err = b.leader(ctx)
	return err
}
