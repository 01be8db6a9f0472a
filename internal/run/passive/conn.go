package passive

import "net/netip"

// connAddresses contains the addresses of a connection.
type connAddresses struct{ client, server netip.AddrPort }

// state is the extent to which a connection is decoded.
type state uint8

const (
	open       state = iota // all data is decoded
	unrecorded              // nothing is decoded
	closed
)

// conn is a connection. A connection begins with the client's SYN.
type conn struct {
	number    uint32
	tap       *Conn // set from the connection's first byte to its end
	state     state
	clientISN uint32 // the client's initial sequence number
	serverISN uint32 // the member's initial sequence number, if its stream is known
	streams   [2]stream
	// confirmed is set if the client has sent anything after its SYN.
	confirmed      bool
	synTime        int64 // time at which the SYN arrived
	lastPacketTime int64 // time at which the last packet arrived
	// twin is an earlier connection that may be the same connection with other addresses. The two
	// are the same if the member answered both with the same initial sequence number.
	twin *conn
}

// The indexes of a connection's streams.
const (
	clientSide = iota
	serverSide
)
