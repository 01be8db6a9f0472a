//go:build !linux

package passive

import "net"

// relayBlock is of no use here: no loop reads.
const relayBlock = 2 * chunkSize

// loop is what this system has not.
type loop struct{}

func (r *Relay) beginLoops() {}

func (*loop) pass(*tapped, net.Conn, net.Conn) bool { return false }
func (*loop) stop()                                 {}
func (*loop) close()                                {}
