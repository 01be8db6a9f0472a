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
	Exec    string           // path of the server binary to run; empty for the store's default binary
	Self    string           // path of the quorumbench binary, for stores whose server it contains
	// Remote is set if the processes run on other machines. Launch then does not check the local
	// installation, and the caller must ignore Process.Path.
	Remote   bool
	Settings any // the result of DecodeSettings
	// JoiningMember is empty for a new cluster. Otherwise the other Members are a running cluster,
	// and JoiningMember is the name of the member without data that joins it.
	JoiningMember string
	// Credentials maps each member's name to the member's certificate. The certificates are used
	// for TLS with clients and, if PeerTLS is set in a MemberPlace, also for TLS between members.
	// Credentials is nil for connections without TLS.
	Credentials map[string]kv.Credentials
}

// ProcessAt returns a member's process with the fields that all stores set in the same way:
// folders, log file, and the first port as the client endpoint.
func ProcessAt(m kv.MemberPlace, path string) Process {
	return Process{
		Name: m.Name, Endpoint: m.Address(0), Path: path, Dir: m.Dir,
		DataDir: filepath.Join(m.Dir, "data"), LogFile: filepath.Join(m.Dir, m.Name+".log"),
	}
}

// Check returns an error if there are no members, or if a member has too few ports or a folder that
// is not an absolute path. product is the server's name in the error.
func (s *LaunchSpec) Check(product string) error {
	if len(s.Members) == 0 {
		return fmt.Errorf("a cluster of %s needs at least one member", product)
	}
	for _, m := range s.Members {
		if len(m.Ports) < PortsPerMember {
			return fmt.Errorf("member %s of %s has %d ports, but needs %d ports", m.Name, product, len(m.Ports), PortsPerMember)
		}
		if !filepath.IsAbs(m.Dir) {
			return fmt.Errorf("the folder of member %s of %s is not an absolute path: %s", m.Name, product, m.Dir)
		}
	}
	return nil
}

// PortsPerMember is the number of ports in a MemberPlace: one for clients, one for peers, and
// two for a store's other listeners.
const PortsPerMember = 4

// Launch is a description, as data, of how to start a cluster.
type Launch struct {
	Processes []Process // one per member, in the order of the spec
	// StartTimeout limits the time from the start of the processes until the cluster has a leader.
	StartTimeout time.Duration
	// Synced is set if the store is configured to sync each write to disk before it acknowledges
	// the write.
	Synced bool
	// Notes are sentences for the report, for example about limits that were raised.
	Notes []string
}

// Process is one server process.
type Process struct {
	Name     string            // the member's name
	Endpoint string            // HOST:PORT that clients use
	Path     string            // executable
	Args     []string          // without the executable's name
	Env      []string          // variables KEY=VALUE, in addition to those from files.CleanEnviron
	Dir      string            // working folder
	DataDir  string            // the member's data; a wipe empties this folder, and fdatasync is measured in it
	LogFile  string            // file to which standard output and standard error are appended
	Files    map[string][]byte // files to write before the start: maps each path to the contents
	// Backends holds further processes of the same member, such as the server that a proxy uses.
	// They are started before this process, and are stopped, killed and paused with it.
	// Access.Backends maps this process's Endpoint to the Endpoint of a process in Backends. If a
	// process in Backends keeps the member's data, both processes have the same DataDir.
	Backends []Process
}

// LaunchSettings are a store's launch settings. If a store's settings cannot start a program, refer
// to a file or enable TLS, the settings struct can embed PlainSettings, which implements all
// methods except Check.
type LaunchSettings interface {
	// Check returns an error if a setting is invalid. The error describes the first such setting.
	Check() error
	// CheckConfined returns an error if a setting could make a server run another program, or
	// access files outside its folders. It is called for settings that came from another machine.
	CheckConfined() error
	// Secured reports whether members use TLS with clients. quorumbench creates the certificates
	// for the run.
	Secured() bool
	// SecuredPeers reports whether members also use TLS with each other; each member then uses its
	// certificate as a client and as a server. In that case PeerPort returns the index of the peer
	// port in MemberPlace.Ports.
	SecuredPeers() bool
	PeerPort() int
}

// Settings is implemented by pointers to settings structs. The zero value of the struct holds
// the defaults, and the fields' yaml tags hold the settings' names.
type Settings[T any] interface {
	*T
	LaunchSettings
}

// PlainSettings implements LaunchSettings except for Check. A settings struct that needs no other
// methods embeds PlainSettings and implements only Check.
type PlainSettings struct{}

// CheckConfined implements LaunchSettings.
func (PlainSettings) CheckConfined() error { return nil }

// Secured implements LaunchSettings.
func (PlainSettings) Secured() bool { return false }

// SecuredPeers implements LaunchSettings.
func (PlainSettings) SecuredPeers() bool { return false }

// PeerPort implements LaunchSettings.
func (PlainSettings) PeerPort() int { return 0 }

// DecodeSettings implements Store.DecodeSettings for a store whose settings have type T. The
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

// SettingsOf returns v, the settings in a LaunchSpec, as a *T, or the defaults if v is nil.
func SettingsOf[T any, P Settings[T]](v any) (P, error) {
	switch s := v.(type) {
	case nil:
		return new(T), nil
	case P:
		return s, s.Check()
	}
	return nil, fmt.Errorf("the settings have type %T, want %T", v, P(nil))
}

// Setting is a setting whose value is not zero.
type Setting struct {
	Name  string // the name in the field's yaml tag
	Value any    // dereferenced if it is a pointer
}

// NonZeroSettings returns the settings that are not zero, in the order of the struct's fields.
// v must point to the settings struct.
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

// CheckSigns returns an error if a setting is negative. product is the server's name in the
// error.
func CheckSigns(product string, v any) error {
	for _, s := range NonZeroSettings(v) {
		if n := reflect.ValueOf(s.Value); n.CanInt() && n.Int() < 0 {
			return fmt.Errorf("%s's %s must not be negative", product, s.Name)
		}
	}
	return nil
}

// CheckChoice returns an error if value is not one of the choices. An empty value means the
// default and is always accepted. product is the server's name in the error.
func CheckChoice(product, name, value string, choices ...string) error {
	if value == "" || slices.Contains(choices, value) {
		return nil
	}
	return fmt.Errorf("%s's setting %s cannot be %q; choose one of %s", product, name, value, strings.Join(choices, ", "))
}
