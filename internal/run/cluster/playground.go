package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
)

// stateFile marks a folder as a playground's and holds its Playground.
const stateFile = "quorumbench-cluster.json"

// stateSchema is the version of the state file.
const stateSchema = 1

// Errors that a caller may want to tell apart.
var (
	ErrNoPlayground = errors.New("there is no cluster")
	ErrNotOurs      = errors.New("the folder is not ours")
	ErrAlreadyUp    = errors.New("the cluster is already there")
)

// Playground is a local cluster that lives on after the command that started
// it, until Down.
type Playground struct {
	Schema  int                `json:"schema"`
	Store   string             `json:"store"` // its name, for the registry
	Dir     string             `json:"dir"`
	Started time.Time          `json:"started"`
	Members []PlaygroundMember `json:"members"`
}

// PlaygroundMember is one of its members.
type PlaygroundMember struct {
	Name     string        `json:"name"`
	Endpoint string        `json:"endpoint"` // HOST:PORT for clients
	DataDir  string        `json:"data_dir"`
	LogFile  string        `json:"log_file"`
	Process  host.Identity `json:"process"`
	// Behind are its further processes, such as the server behind a proxy.
	Behind []PlaygroundBacking `json:"behind,omitempty"`
}

// PlaygroundBacking is a further process of a member.
type PlaygroundBacking struct {
	Name     string        `json:"name"`
	Endpoint string        `json:"endpoint"` // HOST:PORT at which it serves
	Process  host.Identity `json:"process"`
}

// Running reports whether all of the member's processes run.
func (m *PlaygroundMember) Running() bool {
	processes := m.processes()
	for _, p := range processes {
		if !p.Running() {
			return false
		}
	}
	return len(processes) > 0
}

// alive reports whether any of the member's processes runs.
func (m *PlaygroundMember) alive() bool {
	for _, p := range m.processes() {
		if p.Running() {
			return true
		}
	}
	return false
}

func (m *PlaygroundMember) processes() []host.Identity {
	var out []host.Identity
	for _, b := range m.Behind {
		out = append(out, b.Process)
	}
	if m.Process.PID != 0 { // 0: only what is behind was started before we were killed
		out = append(out, m.Process)
	}
	return out
}

// Endpoints lists the members' client endpoints.
func (p *Playground) Endpoints() []string {
	out := make([]string, len(p.Members))
	for i, m := range p.Members {
		out[i] = m.Endpoint
	}
	return out
}

// access is how to reach the cluster.
func (p *Playground) access() store.Access {
	a := store.Access{Endpoints: p.Endpoints()}
	for _, m := range p.Members {
		for _, b := range m.Behind {
			if a.Behind == nil {
				a.Behind = map[string]string{}
			}
			a.Behind[m.Endpoint] = b.Endpoint
		}
	}
	return a
}

// running is how many members have a process that runs.
func (p *Playground) running() int {
	n := 0
	for i := range p.Members {
		if p.Members[i].alive() {
			n++
		}
	}
	return n
}

// Status asks every member through the store's client. One that does not
// answer is listed with its error; the error is for when none answers.
func (p *Playground) Status(ctx context.Context, st store.Store) (store.Status, error) {
	access := p.access()
	access.DialTimeout = 2 * time.Second
	admin, err := st.Admin(access)
	if err != nil {
		return store.Status{}, err
	}
	status, err := admin.Status(ctx)
	if closing := admin.Close(); err == nil {
		err = closing
	}
	return status, err
}

// DefaultDir is where a store's playground lives unless it is told otherwise:
// in the user's cache folder.
func DefaultDir(storeName string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("the user's cache folder is not known (%w); name a folder for the cluster", err)
	}
	return filepath.Join(cache, "quorumbench", "cluster-"+storeName), nil
}

// Load reads the playground of a folder. The error is ErrNoPlayground if the
// folder is missing or empty, and ErrNotOurs if it holds something else.
func Load(dir string) (*Playground, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("the path %s cannot be resolved: %w", dir, err)
	}
	b, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, absent(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("the state of the cluster in %s cannot be read: %w", dir, err)
	}
	p := &Playground{Dir: dir, Schema: stateSchema}
	if len(b) == 0 { // whoever made it was killed in that moment
		return p, nil
	}
	if err := json.Unmarshal(b, p); err != nil {
		return nil, fmt.Errorf("%w: %s in %s is damaged (%w)", ErrNotOurs, stateFile, dir, err)
	}
	if p.Schema != stateSchema {
		return nil, fmt.Errorf("%w: the cluster in %s was started by another version of quorumbench (state %d, not %d)", ErrNotOurs, dir, p.Schema, stateSchema)
	}
	p.Dir = dir // it may have been moved
	return p, nil
}

// absent says what a folder without a state file is.
func absent(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(entries) == 0:
		return fmt.Errorf("%w in %s", ErrNoPlayground, dir)
	case err != nil:
		return fmt.Errorf("the folder %s cannot be read: %w", dir, err)
	}
	return fmt.Errorf("%w: %s holds other files and no cluster of quorumbench; name an empty or a new folder", ErrNotOurs, dir)
}

// create writes the first state, which only one can: the file's existence is
// the lock of the folder.
func (p *Playground) create() error {
	if err := os.MkdirAll(p.Dir, 0o755); err != nil {
		return fmt.Errorf("the folder %s cannot be made: %w", p.Dir, err)
	}
	f, err := os.OpenFile(filepath.Join(p.Dir, stateFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: another command has just begun to start one in %s", ErrAlreadyUp, p.Dir)
	}
	if err != nil {
		return fmt.Errorf("the folder %s cannot be written: %w", p.Dir, err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("the folder %s cannot be written: %w", p.Dir, err)
	}
	return p.save()
}

func (p *Playground) save() error {
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return host.NewLocal(nil, nil).WriteFile(filepath.Join(p.Dir, stateFile), append(b, '\n'))
}
