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

// LaunchSpec describes the cluster to launch.
type LaunchSpec struct {
	Cluster string           // a name unique to this cluster
	Members []kv.MemberPlace // one per member
	Exec    string           // another server binary; empty for the store's default
	Self    string           // path of the quorumbench binary, for stores embedded in it
	// Elsewhere means that other machines create their own processes: Launch does
	// not check the local installation, and Process.Path has no meaning.
	Elsewhere bool
	Settings  any // the result of DecodeSettings
	// Joining is the name of an empty member that joins the running cluster of
	// the other members; empty for a new cluster.
	Joining string
	// Credentials are the members' certificates, by name, for TLS with clients
	// and, if a place has PeerTLS, with other members; nil for plain connections.
	Credentials map[string]kv.Credentials
}

// ProcessAt returns a member's process with the fields that are the same in every
// store: folders, log file, and the first port as the client endpoint.
func ProcessAt(m kv.MemberPlace, path string) Process {
	return Process{
		Name: m.Name, Endpoint: m.Address(0), Path: path, Dir: m.Dir,
		DataDir: filepath.Join(m.Dir, "data"), LogFile: filepath.Join(m.Dir, m.Name+".log"),
	}
}

// Check returns an error if the members' places are invalid. product is the
// server's name.
func (s *LaunchSpec) Check(product string) error {
	if len(s.Members) == 0 {
		return fmt.Errorf("a cluster of %s needs at least one member", product)
	}
	for _, m := range s.Members {
		if len(m.Ports) < PortsPerMember {
			return fmt.Errorf("member %s of %s has %d ports, but needs %d ports", m.Name, product, len(m.Ports), PortsPerMember)
		}
		if !filepath.IsAbs(m.Dir) {
			return fmt.Errorf("the folder of the member %s of %s, %s, is not an absolute path", m.Name, product, m.Dir)
		}
	}
	return nil
}

// PortsPerMember is the number of ports in a MemberPlace: for clients, for peers,
// and two for other listeners of a store.
const PortsPerMember = 4

// Launch describes as data how to start a cluster.
type Launch struct {
	Processes []Process // one per member, in the order of the spec
	// StartTimeout limits the time from start until the cluster has a leader.
	StartTimeout time.Duration
	// Synced reports whether the store is configured to sync a write before it
	// acknowledges it.
	Synced bool
	// Notes are sentences for the report about raised limits and chosen settings.
	Notes []string
}

// Process is one server process.
type Process struct {
	Name     string            // the member's name
	Endpoint string            // HOST:PORT that clients use
	Path     string            // executable
	Args     []string          // without the executable
	Env      []string          // KEY=VALUE, in addition to those of package environ
	Dir      string            // working folder
	DataDir  string            // the folder to wipe, and to measure fdatasync in
	LogFile  string            // standard output and error are appended here
	Files    map[string][]byte // path -> contents, written before the start
	// Behind holds further processes of the same member, such as the server that
	// a proxy uses. They are started before this process, and stopped, killed and
	// paused with it. Their Endpoint is this member's value in Access.Behind. The
	// process that keeps the member's data has the DataDir; this process then has
	// the same one.
	Behind []Process
}

// LaunchSettings are a store's launch settings. Settings that start no program,
// name no file and use no TLS can embed PlainSettings, which has all methods
// except Check.
type LaunchSettings interface {
	// Check returns an error about the first invalid setting.
	Check() error
	// CheckConfined returns an error about the first setting that could make a
	// server run another program, or access files outside of its folders. It is
	// called for settings from another machine.
	CheckConfined() error
	// Secured reports whether members use TLS with clients, with certificates
	// created for the run.
	Secured() bool
	// SecuredPeers reports whether members also use TLS with each other, with the
	// same certificates on both sides. PeerPort is then the index of the peer
	// port among a member's ports.
	SecuredPeers() bool
	PeerPort() int
}

// Settings is implemented by pointers to settings structs: the zero value holds
// the defaults, and the yaml tags the settings' names.
type Settings[T any] interface {
	*T
	LaunchSettings
}

// PlainSettings is for embedding in a store's settings.
type PlainSettings struct{}

// CheckConfined implements LaunchSettings.
func (PlainSettings) CheckConfined() error { return nil }

// Secured implements LaunchSettings.
func (PlainSettings) Secured() bool { return false }

// SecuredPeers implements LaunchSettings.
func (PlainSettings) SecuredPeers() bool { return false }

// PeerPort implements LaunchSettings.
func (PlainSettings) PeerPort() int { return 0 }

// DecodeSettings implements Store.DecodeSettings for a store with settings of
// type T; the result is a *T.
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

// SettingsOf returns the settings of a LaunchSpec: v, a *T, or the defaults if v
// is nil.
func SettingsOf[T any, P Settings[T]](v any) (P, error) {
	switch s := v.(type) {
	case nil:
		return new(T), nil
	case P:
		return s, s.Check()
	}
	return nil, fmt.Errorf("the settings have type %T, want %T", v, P(nil))
}

// Setting is a setting that is not zero.
type Setting struct {
	Name  string // from its yaml tag
	Value any    // dereferenced if it is a pointer
}

// NonZeroSettings returns the settings that are not zero, in the order of the fields of the
// struct that v points to.
func NonZeroSettings(v any) (set []Setting) {
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

// CheckSigns returns an error about the first negative setting. product is the
// server's name.
func CheckSigns(product string, v any) error {
	for _, s := range NonZeroSettings(v) {
		if n := reflect.ValueOf(s.Value); n.CanInt() && n.Int() < 0 {
			return fmt.Errorf("%s's %s must not be negative", product, s.Name)
		}
	}
	return nil
}

// CheckChoice returns an error if value is neither empty, which means the default, nor
// one of the choices. product is the server's name.
func CheckChoice(product, name, value string, choices ...string) error {
	if value == "" || slices.Contains(choices, value) {
		return nil
	}
	return fmt.Errorf("%s has no %s %q; choose one of %s", product, name, value, strings.Join(choices, ", "))
}
