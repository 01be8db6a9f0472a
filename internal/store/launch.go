package store

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"
)

// LaunchSpec is what a cluster is to be made of.
type LaunchSpec struct {
	Cluster string        // a name unique to this cluster
	Members []MemberPlace // one for each member
	Exec    string        // another server binary; empty for the store's default
	Self    string        // our own binary, for stores that are embedded in it
	// Elsewhere says that other machines make their processes themselves: what is
	// installed here is not looked at, and Path means nothing.
	Elsewhere bool
	Settings  any // what DecodeSettings returned
	// Joining is the name of a member that joins, empty, the cluster of the others,
	// which runs; empty for a cluster that begins.
	Joining string
	// Credentials are by which members speak TLS with clients, and with each other where
	// their places say so, by their names; nil for plain connections.
	Credentials map[string]Credentials
}

// Credentials are a certificate and its key, and the certificate of the authority that
// signed those of all members, in PEM.
type Credentials struct{ Certificate, Key, Authority []byte }

// MemberPlace is where one member lives.
type MemberPlace struct {
	Name  string // such as m1
	Host  string // an IP address
	Ports []int  // as many as Launch asked for with PortsPerMember
	Dir   string // absolute; the member's own folder, made by the caller
	// PeerTLS says that members speak TLS with each other (SecuredPeers).
	PeerTLS bool `json:",omitempty"`
}

// Address is HOST:PORT of one of the member's ports, by its place in Ports.
func (m MemberPlace) Address(port int) string {
	return net.JoinHostPort(m.Host, strconv.Itoa(m.Ports[port]))
}

// Process is the member's process with all that is the same in every store: its
// folders, its log, and the port for clients, the first one.
func (m MemberPlace) Process(path string) Process {
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
