package zookeeper

import "encoding/binary"

// fifo keeps byte strings in order, in memory that is used again.
type fifo struct {
	b  []byte
	at int // before it, everything was taken
}

func (f *fifo) push(p []byte) {
	if f.at > 1<<16 && f.at > len(f.b)/2 || f.at == len(f.b) {
		f.b, f.at = f.b[:copy(f.b, f.b[f.at:])], 0
	}
	f.b = binary.LittleEndian.AppendUint32(f.b, uint32(len(p)))
	f.b = append(f.b, p...)
}

// pop takes the oldest string. It is valid until the next push.
func (f *fifo) pop() []byte {
	n := int(binary.LittleEndian.Uint32(f.b[f.at:]))
	p := f.b[f.at+4 : f.at+4+n]
	f.at += 4 + n
	return p
}

// shifted is a short list without its first element.
func shifted[T any](list []T) []T { return list[:copy(list, list[1:])] }
