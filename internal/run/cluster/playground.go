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

// Errors that callers handle differently.
var (
	ErrNoPlayground   = errors.New("there is no cluster")
	ErrForeign        = errors.New("the folder cannot be used")
	ErrAlreadyRunning = errors.New("the cluster already exists")
)

// Playground is a local cluster that keeps running after the command that started it, until Down.
type Playground struct {
	Schema  int       `json:"schema"`
	Store   string    `json:"store"` // name of the store in the registry
	Dir     string    `json:"dir"`
	Started time.Time `json:"started"`
	// Place identifies the machine, the boot and the PID namespace in which the members were
	// started and in which their process IDs are valid.
	Place host.Place `json:"place"`
	// Folder is the ID of Dir. A copy of the folder has another ID, so the copy's state is
	// rejected.
	Folder host.FileID `json:"folder"`
	// CreatedFolders contains the folders that Up created, including Dir unless it already existed.
	CreatedFolders []host.CreatedFolder `json:"made,omitempty"`
	// Mark is in the environment of all processes of the cluster.
	Mark host.Mark `json:"mark"`
	// Starter is the process that is starting the cluster, or nil when the cluster is ready.
	Starter *host.Identity     `json:"starter,omitempty"`
	Members []PlaygroundMember `json:"members"`
}

// PlaygroundMember is a member of a playground. It is recorded before it is started. Its folder and
// processes are recorded as soon as they exist.
type PlaygroundMember struct {
	Name     string        `json:"name"`
	Endpoint string        `json:"endpoint"` // HOST:PORT for clients
	DataDir  string        `json:"data_dir"`
	LogFile  string        `json:"log_file"`
	Folder   host.FileID   `json:"folder"` // ID of the folder in Dir that has the member's name; zero if the folder was not created yet
	Process  host.Identity `json:"process"`
	// Backends contains the member's other processes, such as the server behind a proxy.
	Backends []PlaygroundBackend `json:"behind,omitempty"`
}

// PlaygroundBackend is another process of a member.
type PlaygroundBackend struct {
	Name     string        `json:"name"`
	Endpoint string        `json:"endpoint"` // HOST:PORT on which the process serves
	Process  host.Identity `json:"process"`
}

// Running reports whether all of the member's processes are running.
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
	for _, b := range m.Backends {
		out = append(out, b.Process)
	}
	if m.Process.PID != 0 { // 0 if Up was killed after it had started only the member's other processes
		out = append(out, m.Process)
	}
	return out
}

// Endpoints returns the members' client endpoints.
func (p *Playground) Endpoints() []string {
	out := make([]string, len(p.Members))
	for i, m := range p.Members {
		out[i] = m.Endpoint
	}
	return out
}

// access returns the information that a client needs to connect to the cluster.
func (p *Playground) access() store.Access {
	a := store.Access{Endpoints: p.Endpoints()}
	for _, m := range p.Members {
		for _, b := range m.Backends {
			addBackend(&a, m.Endpoint, b.Endpoint)
		}
	}
	return a
}

// CheckHere returns nil if the members' processes can be seen from here, and otherwise the reason.
func (p *Playground) CheckHere() error {
	switch p.Place.Visibility() {
	case host.OtherPIDNamespace:
		return fmt.Errorf("the members of the cluster in %s were started in another PID namespace (%s; this one is %s), so it is unknown whether they are running",
			p.Dir, p.Place.PIDs, host.CurrentPlace().PIDs)
	case host.OtherHost:
		return fmt.Errorf("the members of the cluster in %s were started on another machine, so it is unknown whether they are running", p.Dir)
	case host.SamePlace, host.Rebooted:
	}
	return nil
}

// Status asks all members for their status. A member that does not respond is included with its
// error. Status returns an error if no member responds.
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

// DefaultDir returns the default folder for a store's playground, which is in the user's cache
// folder.
func DefaultDir(storeName string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("the user's cache folder is unknown (%w); specify a folder for the cluster", err)
	}
	return filepath.Join(cache, "quorumbench", "cluster-"+storeName), nil
}
