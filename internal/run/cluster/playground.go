package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Errors that a caller may want to distinguish.
var (
	ErrNoPlayground = errors.New("there is no cluster")
	ErrNotOurs      = errors.New("the folder is not ours")
	ErrAlreadyUp    = errors.New("the cluster is already there")
)

// Playground is a local cluster that lives on after the command that started
// it, until Down.
type Playground struct {
	Schema  int       `json:"schema"`
	Store   string    `json:"store"` // its name, for the registry
	Dir     string    `json:"dir"`
	Started time.Time `json:"started"`
	// Place is where the members were started, and their numbers mean something.
	Place host.Place `json:"place"`
	// Folder is Dir itself: a copy of it is another, and its state is not its own.
	Folder host.FileID `json:"folder"`
	// Made are the folders that up made, Dir among them unless it was there.
	Made []host.Made `json:"made,omitempty"`
	// Mark is in the environment of every process of the cluster.
	Mark host.Mark `json:"mark"`
	// Starter is the command that starts the cluster, until it is ready.
	Starter *host.Identity     `json:"starter,omitempty"`
	Members []PlaygroundMember `json:"members"`
}

// PlaygroundMember is one of its members. It is written down before it is
// started, and its folder and processes as soon as they are there.
type PlaygroundMember struct {
	Name     string        `json:"name"`
	Endpoint string        `json:"endpoint"` // HOST:PORT for clients
	DataDir  string        `json:"data_dir"`
	LogFile  string        `json:"log_file"`
	Folder   host.FileID   `json:"folder"` // with its name in Dir; zero: not made yet
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
			setBehind(&a, m.Endpoint, b.Endpoint)
		}
	}
	return a
}

// Elsewhere says why the members' processes cannot be seen from here; nil if
// they can.
func (p *Playground) Elsewhere() error {
	switch p.Place.Reach() {
	case host.OtherSpace:
		return fmt.Errorf("the members of the cluster in %s were started in another PID namespace (%s; ours is %s), so that it cannot be seen from here whether they run",
			p.Dir, p.Place.PIDs, host.Here().PIDs)
	case host.OtherHost:
		return fmt.Errorf("the members of the cluster in %s were started on another machine, so that it cannot be seen from here whether they run", p.Dir)
	case host.SamePlace, host.Rebooted:
	}
	return nil
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

// DefaultDir is where a store's playground lives unless a folder is named:
// in the user's cache folder.
func DefaultDir(storeName string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("the user's cache folder is not known (%w); name a folder for the cluster", err)
	}
	return filepath.Join(cache, "quorumbench", "cluster-"+storeName), nil
}
