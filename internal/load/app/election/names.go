package election

import (
	"encoding/binary"
	"encoding/hex"
	"math"

	"github.com/quorumbench/quorumbench/internal/load/app"
)

// NameSize is the size of a candidate's name in bytes.
const NameSize = 1 + app.Digits + 1 + 2*runBytes

const runBytes = 4

// AppendOffice appends the key of an office, such as "elections/e000007".
func AppendOffice(b []byte, prefix string, office int) []byte {
	return app.AppendNumber(append(append(b, prefix...), 'e'), clampUint32(office))
}

// AppendCandidate appends a candidate's name, such as "c000042-1a2b3c4d". The parameter `index` is
// the candidate's number, counted over all offices. The parameter `run` distinguishes the name from
// names that an earlier run may have left in the store.
func AppendCandidate(b []byte, index int, run uint32) []byte {
	b = append(app.AppendNumber(append(b, 'c'), clampUint32(index)), '-')
	var encoded [runBytes]byte
	binary.BigEndian.PutUint32(encoded[:], run)
	return hex.AppendEncode(b, encoded[:])
}

// ParseCandidate returns the candidate and the run from a name that AppendCandidate created.
func ParseCandidate(name []byte) (index int, run uint32, ok bool) {
	const end = 1 + app.Digits
	if len(name) != NameSize || name[0] != 'c' || name[end] != '-' {
		return 0, 0, false
	}
	n, ok := app.ReadNumber(name[1:end])
	var encoded [runBytes]byte
	if _, err := hex.Decode(encoded[:], name[end+1:]); err != nil {
		return 0, 0, false
	}
	return int(n), binary.BigEndian.Uint32(encoded[:]), ok
}

func clampUint32(n int) uint32 { return uint32(min(max(n, 0), math.MaxInt32)) } // #nosec G115 -- within bounds
