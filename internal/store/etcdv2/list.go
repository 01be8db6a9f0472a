package etcdv2

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The v2 API lists keys with their values and has no pages, so that a list can
// be as long as all that is stored. It is read piece by piece; of the values
// nothing is kept, and of the keys as many as are removed before the next list.

const (
	// maxList bounds what is read of one list, in bytes.
	maxList = 256 << 20
	// maxPiece bounds what is read ahead of the piece that is wanted: a value, or
	// the blanks between two, in bytes.
	maxPiece = 8 << 20
	// maxNested bounds how deep folders may lie in folders.
	maxNested = 10_000
	// A page ends with so many pieces, or with so many bytes of their names.
	pagePieces = 50_000
	pageBytes  = 8 << 20
)

// piece is a key or folder that is removed by one request.
type piece struct {
	name string
	dir  bool
	keys int64 // it has
}

// page is what is to be removed at once.
type page struct {
	prefix string // of the names, without the slash that they begin with
	pieces []piece
	bytes  int  // of names
	full   bool // there may be more
}

var (
	errNoList   = errors.New("the answer is no list of keys")
	errPageFull = errors.New("the page is full")
)

// read reads a page from a list of the folder in which the prefix lies.
func (p *page) read(body io.Reader) error {
	p.pieces, p.bytes, p.full = nil, 0, false
	l := newListReader(body)
	err := l.object(func(name string) error {
		if name != "node" {
			return l.skip()
		}
		return l.object(func(name string) error {
			if name != "nodes" {
				return l.skip()
			}
			return l.array(func() error { return p.take(l) })
		})
	})
	switch {
	case errors.Is(err, errPageFull):
		p.full = true
		return nil
	case l.failed != nil:
		return l.failed
	case err != nil:
		return errNoList
	}
	return nil
}

// take takes a node of the folder.
func (p *page) take(l *listReader) error {
	n, err := l.node(1)
	if err != nil {
		return err
	}
	if name, ok := strings.CutPrefix(n.name, "/"); !ok || !strings.HasPrefix(name, p.prefix) {
		return nil
	}
	p.pieces = append(p.pieces, n)
	if p.bytes += len(n.name); len(p.pieces) >= pagePieces || p.bytes >= pageBytes {
		return errPageFull
	}
	return nil
}

// listReader reads JSON in pieces of bounded length.
type listReader struct {
	*json.Decoder
	body   io.Reader
	read   int64 // bytes of body
	failed error // of body
}

func newListReader(body io.Reader) *listReader {
	l := &listReader{body: body}
	l.Decoder = json.NewDecoder(l)
	return l
}

// Read implements io.Reader for the decoder, which keeps all that it has read
// and not understood.
func (l *listReader) Read(b []byte) (n int, err error) {
	if ahead := l.read - l.InputOffset(); ahead > maxPiece {
		err = fmt.Errorf("the list has a piece of more than %d bytes, which is not taken", maxPiece)
	} else {
		n, err = l.body.Read(b)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		l.failed = err
	}
	l.read += int64(n)
	return n, err
}

// object reads an object. Of each member field is called with the name, and
// reads the value.
func (l *listReader) object(field func(name string) error) error {
	return l.within('{', func() error {
		t, err := l.Token()
		if err != nil {
			return err
		}
		name, ok := t.(string)
		if !ok {
			return errNoList
		}
		return field(name)
	})
}

// array reads an array, of which element reads each.
func (l *listReader) array(element func() error) error { return l.within('[', element) }

func (l *listReader) within(open json.Delim, each func() error) error {
	if t, err := l.Token(); err != nil || t != open {
		return errors.Join(err, errNoList)
	}
	for l.More() {
		if err := each(); err != nil {
			return err
		}
	}
	_, err := l.Token()
	return err
}

// skip reads a value for nobody.
func (l *listReader) skip() error {
	for depth := 0; ; {
		t, err := l.Token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// node reads a key or a folder with all that is in it.
func (l *listReader) node(depth int) (n piece, err error) {
	if depth > maxNested {
		return n, errNoList
	}
	err = l.object(func(name string) (err error) {
		switch name {
		case "key":
			err = l.Decode(&n.name)
		case "dir":
			err = l.Decode(&n.dir)
		case "nodes":
			err = l.array(func() error {
				in, err := l.node(depth + 1)
				n.keys += in.keys
				return err
			})
		default:
			err = l.skip()
		}
		return err
	})
	if !n.dir {
		n.keys = 1
	}
	return n, err
}
