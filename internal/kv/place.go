package kv

import (
	"net"
	"strconv"
)

// Credentials contain a member's certificate and private key, and the certificate of the authority
// that signed the certificates of all members. All three are in PEM.
type Credentials struct{ Certificate, Key, Authority []byte }

// MemberPlace describes where one member of a cluster runs: its host, ports and folder.
type MemberPlace struct {
	Name  string // such as m1
	Host  string // an IP address
	Ports []int  // at least store.PortsPerMember ports
	Dir   string // absolute path of the member's folder, which the caller creates
	// PeerTLS makes members use TLS with each other (see store.SecuredPeers).
	PeerTLS bool `json:",omitempty"`
}

// Address returns the address HOST:PORT of one of the member's ports. The parameter `port` is an
// index into Ports.
func (m MemberPlace) Address(port int) string {
	return net.JoinHostPort(m.Host, strconv.Itoa(m.Ports[port]))
}
