package zookeeper_test

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// FuzzTap feeds arbitrary traffic to the decoder. It checks that the result does not depend on how
// the traffic is split into pieces.
func FuzzTap(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 1, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 3}, []byte{0, 0, 0, 1, 1}, uint8(3))
	f.Fuzz(func(t *testing.T, client, server []byte, piece uint8) {
		storetest.CheckTap(t, zookeeper.New(), client, server, piece)
	})
}
