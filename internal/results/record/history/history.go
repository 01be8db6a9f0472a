// Package history is the files of a run directory that hold every operation of
// a load, for package verify. A load's loops write one file each; a crash at any
// moment leaves what was written before readable.
//
// A file is the eight bytes "qbhist1\n" and frames. A frame is a head of 16
// bytes, four little-endian numbers of 32 bits: how many bytes follow, how many
// operations they hold, the size of those when decompressed, and a checksum
// (CRC-32C) of the three and of what follows. The first frame is a Header as
// JSON. Those after it are blocks of package internal/measure/history, compressed
// with Zstandard, in the order in which their operations ended. The last frame is
// empty; a file without it was not closed.
package history

import (
	"encoding/binary"
	"hash/crc32"
	"time"
)

// Promise is something that a store promises of its answers.
type Promise string

// The promises. One that a store does not make is never said to be broken.
const (
	// Order: revisions respect real time. What began after another had ended has
	// no lower one, and a write has a higher one than all that was served before.
	Order Promise = "order"
	// Linearizable: a linearizable read is served at no revision before the last
	// one acknowledged when it began.
	Linearizable Promise = "linearizable"
	// Snapshot: a read returns the latest version not after its own revision, at
	// every level of consistency.
	Snapshot Promise = "snapshot"
	// Durable: what was acknowledged stays until it is overwritten.
	Durable Promise = "durable"
	// Once: what is written is done once or not at all, and as a whole.
	Once Promise = "once"
	// Compare: a compare-and-set succeeds if and only if the version is the one
	// that it names.
	Compare Promise = "compare-and-set"
	// Session: the revisions that a client's operations are served at never go back.
	Session Promise = "session"
)

// Promises lists them all, in the order of this file.
var Promises = []Promise{Order, Linearizable, Snapshot, Durable, Once, Compare, Session}

// Header says what a file's operations are of.
type Header struct {
	Store string `json:"store"`
	// Started is the moment at which the operations' clock stood at 0.
	Started time.Time `json:"started"`
	// Base is the store's revision when the history began: versions up to it were
	// there before. 0: not known.
	Base int64 `json:"base,omitempty"`
	// ClockError is how far the file's clock can be from that of the others, in
	// nanoseconds; 0 for the controller's own.
	ClockError int64 `json:"clock_error_ns,omitempty"`
	// Promises maps what the store promises to where its documentation says so.
	Promises map[Promise]string `json:"promises"`
}

const (
	magic     = "qbhist1\n"
	headSize  = 16
	maxFrame  = 1 << 20 // bytes, before and after decompression
	maxHeader = 1 << 16
)

var crcTable = crc32.MakeTable(crc32.Castagnoli)

// appendFrame appends a frame with a payload of so many operations.
func appendFrame(b, payload []byte, count, size int) []byte {
	start := len(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)))
	b = binary.LittleEndian.AppendUint32(b, uint32(count))
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	b = binary.LittleEndian.AppendUint32(b, checksum(b[start:], payload))
	return append(b, payload...)
}

func checksum(head, payload []byte) uint32 {
	return crc32.Update(crc32.Checksum(head[:headSize-4], crcTable), crcTable, payload)
}
