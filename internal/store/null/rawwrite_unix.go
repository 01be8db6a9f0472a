//go:build unix

package null

import "syscall"

// rawWriter writes to a socket without blocking.
type rawWriter struct {
	conn syscall.RawConn
	once func(fd uintptr) bool // stored, because a new closure for each write would allocate memory
	data []byte
	n    int
	err  error
}

func newRawWriter(rc syscall.RawConn) *rawWriter {
	w := &rawWriter{conn: rc}
	w.once = func(fd uintptr) bool {
		w.n, w.err = syscall.Write(int(fd), w.data)
		return true
	}
	return w
}

// write writes as many bytes as the socket accepts now, possibly none.
func (w *rawWriter) write(b []byte) (int, error) {
	w.data = b
	err := w.conn.Write(w.once)
	w.data = nil
	switch {
	case err != nil:
		return 0, err
	case w.err == syscall.EAGAIN || w.err == syscall.EINTR:
		return 0, nil
	case w.err != nil:
		return 0, w.err
	}
	return w.n, nil
}
