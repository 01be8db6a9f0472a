package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/host"
)

// stateFile is the name of the file that marks a folder as a playground's folder. It contains the
// Playground as JSON.
const stateFile = "quorumbench-cluster.json"

// stateSchema is the format version of the state file.
const stateSchema = 2

// Load reads the playground in a folder. It returns ErrNoPlayground if the folder is missing or
// empty. It returns ErrForeign if the folder contains something else, or if another user may have
// written the state file.
func Load(dir string) (*Playground, error) {
	p, folder, err := load(dir)
	if err == nil {
		folder.Close()
	}
	return p, err
}

// load is like Load, but also returns the open folder.
func load(dir string) (_ *Playground, _ *host.Folder, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot resolve the path %s: %w", dir, err)
	}
	folder, err := host.OpenFolder(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%w in %s", ErrNoPlayground, dir)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the folder %s: %w", dir, host.Cause(err))
	}
	defer func() {
		if err != nil {
			folder.Close()
		}
	}()
	if _, _, err := folder.Inspect(stateFile); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, missingStateError(dir)
	}
	if err := folder.CheckOwner(); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrForeign, err)
	}
	b, err := folder.Read(stateFile)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: cannot use the state of the cluster in %s: %w", ErrForeign, dir, host.Cause(err))
	}
	p, err := parse(b, dir)
	if err == nil {
		err = p.checkFolder(folder)
	}
	return p, folder, err
}

// parse decodes a state file. It rejects a file whose contents Up never writes.
func parse(b []byte, dir string) (*Playground, error) {
	if len(b) == 0 { // the process that created the file was killed before it wrote the state
		return &Playground{Dir: dir, Schema: stateSchema, Place: host.CurrentPlace()}, nil
	}
	p := &Playground{}
	if err := json.Unmarshal(b, p); err != nil {
		return nil, fmt.Errorf("%w: %s in %s is damaged (%w)", ErrForeign, stateFile, dir, err)
	}
	if p.Schema != stateSchema {
		return nil, fmt.Errorf("%w: the cluster in %s was started by another version of quorumbench (state %d, not %d); stop it with that version", ErrForeign, dir, p.Schema, stateSchema)
	}
	if !p.Mark.Valid() {
		return nil, fmt.Errorf("%w: %s in %s is damaged: its mark %q is invalid", ErrForeign, stateFile, dir, p.Mark)
	}
	if len(p.Members) > kv.MaxMembers {
		return nil, fmt.Errorf("%w: the state of the cluster in %s lists %d members, but `cluster up` starts at most %d", ErrForeign, dir, len(p.Members), kv.MaxMembers)
	}
	for i := range p.Members {
		if name := p.Members[i].Name; name != memberName(i) {
			return nil, fmt.Errorf("%w: the state of the cluster in %s lists the member %q instead of %s", ErrForeign, dir, name, memberName(i))
		}
	}
	p.Dir = dir // the folder may have been moved after the state was written
	return p, nil
}

// memberName returns the name of the i-th member, which is also the name of its folder.
func memberName(i int) string { return "m" + strconv.Itoa(i+1) }

// checkFolder returns an error if the state belongs to another folder.
func (p *Playground) checkFolder(folder *host.Folder) error {
	if p.Mark == "" || p.isSameFile(p.Folder, folder.ID()) {
		return nil
	}
	return fmt.Errorf("%w: %s is a copy of a cluster's folder or was restored; stop the cluster with `cluster down` on its original folder, and remove the copy yourself", ErrForeign, p.Dir)
}

// isSameFile reports whether two IDs, one recorded and one read now, belong to the same file.
// Device numbers may change when the machine is rebooted.
func (p *Playground) isSameFile(recorded, now host.FileID) bool {
	return recorded.Inode == now.Inode && (recorded.Device == now.Device || p.Place.Visibility() == host.Rebooted)
}

// missingStateError returns the error for a folder without a state file.
func missingStateError(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case err == nil && len(entries) == 0:
		return fmt.Errorf("%w in %s", ErrNoPlayground, dir)
	case err != nil:
		return fmt.Errorf("cannot read the folder %s: %w", dir, host.Cause(err))
	}
	return fmt.Errorf("%w: %s contains other files but no cluster of quorumbench; specify an empty or a new folder", ErrForeign, dir)
}

// create creates the folder, if it is missing, and the state file. Only one process can create the
// state file, so the file also locks the folder.
func (p *Playground) create() (_ *host.Folder, err error) {
	self, err := host.Identify(os.Getpid())
	if err != nil {
		return nil, err
	}
	p.Place, p.Mark, p.Starter = host.CurrentPlace(), host.NewMark(), &self
	p.CreatedFolders, err = host.CreateFolders(p.Dir)
	defer func() {
		if err != nil {
			host.RemoveCreatedFolders(p.CreatedFolders)
		}
	}()
	if err != nil {
		return nil, err
	}
	folder, err := host.OpenFolder(p.Dir)
	if err != nil {
		return nil, fmt.Errorf("cannot open the folder %s: %w", p.Dir, host.Cause(err))
	}
	defer func() {
		if err != nil {
			folder.Close()
		}
	}()
	if err := folder.CheckOwner(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForeign, err)
	}
	p.Folder = folder.ID()
	b, err := p.encode()
	if err != nil {
		return nil, err
	}
	err = folder.Create(stateFile, b)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%w: another command is starting a cluster in %s", ErrAlreadyRunning, p.Dir)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot write to the folder %s: %w", p.Dir, host.Cause(err))
	}
	return folder, nil
}

func (p *Playground) encode() ([]byte, error) {
	b, err := json.MarshalIndent(p, "", "  ")
	return append(b, '\n'), err
}

// save writes the current state.
func (p *Playground) save(folder *host.Folder) error {
	b, err := p.encode()
	if err == nil {
		err = folder.Replace(stateFile, b)
	}
	if err != nil {
		return fmt.Errorf("cannot write the state of the cluster in %s: %w", p.Dir, host.Cause(err))
	}
	return nil
}
