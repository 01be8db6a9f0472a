package store

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// LaunchSpec is what a cluster is to be made of.
type LaunchSpec struct {
	Cluster string           // a name unique to this cluster
	Members []kv.MemberPlace // one for each member
	Exec    string           // another server binary; empty for the store's default
	Self    string           // our own binary, for stores that are embedded in it
	// Elsewhere says that other machines make their processes themselves: what is
	// installed here is not looked at, and Path means nothing.
	Elsewhere bool
	Settings  any // what DecodeSettings returned
	// Joining is the name of a member that joins, empty, the cluster of the others,
	// which runs; empty for a cluster that begins.
	Joining string
	// Credentials are by which members speak TLS with clients, and with each other where
	// their places say so, by their names; nil for plain connections.
	Credentials map[string]kv.Credentials
}

// ProcessAt returns the member's process with everything that is the same in every store: its
// folders, its log, and the first port, for clients.
func ProcessAt(m kv.MemberPlace, path string) Process {
	return Process{
		Name: m.Name, Endpoint: m.Address(0), Path: path, Dir: m.Dir,
		DataDir: filepath.Join(m.Dir, "data"), LogFile: filepath.Join(m.Dir, m.Name+".log"),
	}
}

// Check returns what is wrong with the members' places as one sentence. The
// product is the server's name.
func (s *LaunchSpec) Check(product string) error {
	if len(s.Members) == 0 {
		return fmt.Errorf("a cluster of %s needs at least one member", product)
	}
	for _, m := range s.Members {
		if len(m.Ports) < PortsPerMember {
			return fmt.Errorf("the member %s of %s has %d ports, and needs %d ports", m.Name, product, len(m.Ports), PortsPerMember)
		}
		if !filepath.IsAbs(m.Dir) {
			return fmt.Errorf("the folder of the member %s of %s, %s, is not an absolute path", m.Name, product, m.Dir)
		}
	}
	return nil
}

// PortsPerMember is how many ports a MemberPlace carries: client, peer, and
// room for what else a store listens on.
const PortsPerMember = 4

// Launch is data that says how to start a cluster.
type Launch struct {
	Processes []Process // one for each member, in the spec's order
	// StartTimeout bounds the time from start to a cluster with a leader.
	StartTimeout time.Duration
	// Synced says whether the store is configured to sync before it acknowledges.
	Synced bool
	// Notes are sentences for the report: limits lifted, settings chosen.
	Notes []string
}

// Process is one server process.
type Process struct {
	Name     string            // the member's name
	Endpoint string            // HOST:PORT that clients use
	Path     string            // executable
	Args     []string          // without the executable
	Env      []string          // KEY=VALUE, besides those of package environ
	Dir      string            // working folder
	DataDir  string            // what is wiped, and where fdatasync is measured
	LogFile  string            // standard output and error are appended here
	Files    map[string][]byte // path -> contents, written before the start
	// Behind are further processes of the same member, such as the server
	// behind a proxy: started before this one, stopped, killed and paused with
	// it. Their Endpoint is what Access.Behind gives for this member's. One that
	// keeps the member's data has the DataDir; this one's is then the same.
	Behind []Process
}

// LaunchSettings are a store's own launch settings. PlainSettings has all methods but Check
// for settings that start no program, name no file and use no TLS.
type LaunchSettings interface {
	// Check returns the first thing wrong with them as one sentence.
	Check() error
	// CheckConfined returns, as one sentence, the first setting that could make a server run
	// another program, or read and write files that are not its own. It is called for
	// settings from another machine.
	CheckConfined() error
	// Secured reports whether members speak TLS with clients, with certificates that are
	// made for the run.
	Secured() bool
	// SecuredPeers reports whether members speak TLS with each other, too, with the same
	// certificates, which both sides show. PeerPort is then the place among a member's
	// ports of the one for other members.
	SecuredPeers() bool
	PeerPort() int
}

// Settings are LaunchSettings that are a pointer to a struct whose zero value is the
// defaults, and whose fields have the settings' names in their yaml tags.
type Settings[T any] interface {
	*T
	LaunchSettings
}

// PlainSettings is for settings of a store to embed.
type PlainSettings struct{}

// CheckConfined implements LaunchSettings.
func (PlainSettings) CheckConfined() error { return nil }

// Secured implements LaunchSettings.
func (PlainSettings) Secured() bool { return false }

// SecuredPeers implements LaunchSettings.
func (PlainSettings) SecuredPeers() bool { return false }

// PeerPort implements LaunchSettings.
func (PlainSettings) PeerPort() int { return 0 }

// DecodeSettings is Store.DecodeSettings for a store whose settings are a T; the
// result is a *T.
func DecodeSettings[T any, P Settings[T]](decode func(into any) error) (any, error) {
	s := P(new(T))
	if decode == nil {
		return s, nil
	}
	if err := decode(s); err != nil {
		return nil, err
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	return s, nil
}

// SettingsOf takes what a LaunchSpec carries, a *T or nil for the defaults.
func SettingsOf[T any, P Settings[T]](v any) (P, error) {
	switch s := v.(type) {
	case nil:
		return new(T), nil
	case P:
		return s, s.Check()
	}
	return nil, fmt.Errorf("the settings are %T, and not %T", v, P(nil))
}

// Setting is one of a store's settings that is not zero.
type Setting struct {
	Name  string // of its yaml tag
	Value any    // of a pointer, what it points to
}

// Set lists the settings that are not zero, in the order of the struct that v
// points to.
func Set(v any) (set []Setting) {
	of := reflect.ValueOf(v).Elem()
	for _, f := range reflect.VisibleFields(of.Type()) {
		value := of.FieldByIndex(f.Index)
		if f.Anonymous || value.IsZero() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		set = append(set, Setting{name, reflect.Indirect(value).Interface()})
	}
	return set
}

// CheckSigns returns a sentence about the first setting that is below zero. The
// product is the server's name.
func CheckSigns(product string, v any) error {
	for _, s := range Set(v) {
		if n := reflect.ValueOf(s.Value); n.CanInt() && n.Int() < 0 {
			return fmt.Errorf("%s's %s must not be negative", product, s.Name)
		}
	}
	return nil
}

// OneOf returns a sentence about a setting that is none of the choices; the
// empty value is the default. The product is the server's name.
func OneOf(product, name, value string, choices ...string) error {
	if value == "" || slices.Contains(choices, value) {
		return nil
	}
	return fmt.Errorf("%s has no %s %q; choose one of %s", product, name, value, strings.Join(choices, ", "))
}
