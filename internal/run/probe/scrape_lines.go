package probe

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/store"
)

// wantedLines are the lines of a text in Prometheus's format that are about the
// named metrics: a server has many others, and can have any number of them.
type wantedLines struct {
	from  *bufio.Reader
	names [][]byte
	left  int    // bytes that may yet be handed on
	line  []byte // what of a line is not handed on yet; in the reader's buffer
}

// namesIn are the names of metrics as lines begin with them.
func namesIn(metrics []store.MetricName) (names [][]byte) {
	for _, m := range metrics {
		for _, name := range []string{m.Name, m.Sum, m.Count} {
			if name != "" {
				names = append(names, []byte(name))
			}
		}
	}
	return names
}

// Read implements io.Reader.
func (w *wantedLines) Read(p []byte) (int, error) {
	for len(w.line) == 0 {
		line, err := w.from.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return 0, fmt.Errorf("a line is longer than %d bytes", longestLine)
		case len(line) == 0 && err != nil:
			return 0, err // the end, or why there is no more
		case !w.wants(line):
			continue
		}
		if w.left -= len(line); w.left < 0 {
			return 0, fmt.Errorf("the lines of the metrics that are read are longer than %d bytes", maxWanted)
		}
		w.line = line
	}
	n := copy(p, w.line)
	w.line = w.line[n:]
	return n, nil
}

// wants reports whether a line is a sample of a named metric, or says its type.
func (w *wantedLines) wants(line []byte) bool {
	if rest, ok := bytes.CutPrefix(line, []byte("# TYPE ")); ok {
		line = rest
	}
	for _, name := range w.names {
		if bytes.HasPrefix(line, name) {
			return true
		}
	}
	return false
}
