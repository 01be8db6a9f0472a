package kv

import (
	"net"
	"strconv"
)

// Credentials are a certificate and its key, and the certificate of the authority that
// signed the certificates of all members, in PEM.
type Credentials struct{ Certificate, Key, Authority []byte }

// MemberPlace is the place of one member of a cluster on a host.
type MemberPlace struct {
	Name  string // such as m1
	Host  string // an IP address
	Ports []int  // store.PortsPerMember of them
	Dir   string // absolute; the member's own folder, made by the caller
	// PeerTLS has members speak TLS with each other (store.SecuredPeers).
	PeerTLS bool `json:",omitempty"`
}

// Address returns HOST:PORT of one of the member's ports, by its place in Ports.
func (m MemberPlace) Address(port int) string {
	return net.JoinHostPort(m.Host, strconv.Itoa(m.Ports[port]))
}
