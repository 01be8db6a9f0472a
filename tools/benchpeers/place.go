package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// fsyncWrites is the number of synced writes that measure the disk.
const fsyncWrites = probe.FsyncWrites

// workspace contains everything that all testbeds share: this machine, a folder, and quorumbench.
type workspace struct {
	host    host.Host
	claim   host.Claim
	dir     string // folder for temporary files and the members' data
	binary  string // path of quorumbench
	members int    // number of members in each cluster
	sync    probe.FsyncResult
}

// newWorkspace creates the folder. It also removes processes and folders that remain from killed
// runs.
func newWorkspace(o options) (*workspace, error) {
	root := o.dataDir
	if root == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("the user's cache folder is not known (%w); name a folder with --data-dir", err)
		}
		root = filepath.Join(cache, "quorumbench", "peers")
	}
	if _, err := host.CleanOrphans(root, host.OrphanDepth); err != nil {
		return nil, err
	}
	h := host.NewLocal(nil, nil)
	claim, err := h.Claim(context.Background(), root)
	if err != nil {
		return nil, err
	}
	return &workspace{host: h, claim: claim, dir: claim.Path(), binary: o.binary, members: o.members}, nil
}

// prepare measures the disk, and builds quorumbench unless its path was given.
func (p *workspace) prepare(ctx context.Context) (err error) {
	syncs, err := p.host.Fsync(ctx, []string{p.dir}, fsyncWrites)
	if err != nil {
		return err
	}
	p.sync = syncs[0]
	if p.binary != "" {
		p.binary, err = filepath.Abs(p.binary)
		return err
	}
	p.binary = filepath.Join(p.dir, "quorumbench")
	const what = "github.com/quorumbench/quorumbench/cmd/quorumbench"
	text, err := exec.CommandContext(ctx, "go", "build", "-o", p.binary, what).CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("quorumbench cannot be built (%w): %s", err, text)
	}
	return nil
}

// close removes all files that the comparison created.
func (p *workspace) close() error { return p.claim.Release(context.Background()) }
