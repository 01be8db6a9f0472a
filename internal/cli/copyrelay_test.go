package cli

import (
	"fmt"
	"io"
	"net"
)

// copyTo is an environment variable that has the program of the tests be a relay that
// copies, to the address that it is.
const copyTo = "QUORUMBENCH_TEST_COPY_TO"

// copyRelay is the plainest relay that can be written in Go: what it takes is what a
// relay that records is compared with. It prints where it listens.
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
