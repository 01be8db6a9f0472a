package cli

import (
	"fmt"
	"io"
	"net"
)

// copyTo is an environment variable that makes the test binary run as a relay that only copies
// bytes. The variable's value is the address to which the relay connects.
const copyTo = "QUORUMBENCH_TEST_COPY_TO"

// copyRelay runs the simplest possible relay in Go, and prints the address at which the relay
// listens. The CPU time of this relay is the baseline for a recording relay.
func copyRelay(to string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	for {
		client, err := l.Accept()
		if err != nil {
			return err
		}
		server, err := net.Dial("tcp", to)
		if err != nil {
			return err
		}
		for _, way := range [...][2]net.Conn{{server, client}, {client, server}} {
			go func() { _, _ = io.Copy(way[0], way[1]); _ = way[0].Close() }()
		}
	}
}
