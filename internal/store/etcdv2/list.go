package etcdv2

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The v2 API lists keys with their values and has no pages, so a list can contain
// the whole store. It is parsed piece by piece; values are not kept, and only as
// many keys as are removed before the next list.

const (
	// maxList limits how much of a list is read, in bytes.
	maxList = 256 << 20
	// maxPiece limits how far the decoder reads ahead for one piece, such as a
	// value or the white space between two values, in bytes.
	maxPiece = 8 << 20
	// maxNested limits the nesting of folders.
	maxNested = 10_000
	// Limits of a page in pieces and in bytes of their names.
	pagePieces = 50_000
	pageBytes  = 8 << 20
)

// piece is a key or folder that is removed by one request.
type piece struct {
	name string
	dir  bool
	keys int64 // number of keys in it
}

// page is a batch of pieces to remove.
type page struct {
	prefix string // of the names, without their leading slash
	pieces []piece
	bytes  int  // of the names
	full   bool // there may be more pieces
}

var (
	errNoList   = errors.New("the response is not a list of keys")
	errPageFull = errors.New("the page is full")
)

// read reads a page from a list of the folder that contains the prefix.
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
			return l.array(func() error { return p.readNode(l) })
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

// readNode handles a node of the folder.
func (p *page) readNode(l *listReader) error {
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

// listReader parses JSON in pieces of limited length.
type listReader struct {
	*json.Decoder
	body   io.Reader
	read   int64 // bytes read from body
	failed error // the error of body
}

func newListReader(body io.Reader) *listReader {
	l := &listReader{body: body}
	l.Decoder = json.NewDecoder(l)
	return l
}

// Read implements io.Reader for the decoder, which buffers all input that it has
// not parsed yet.
func (l *listReader) Read(b []byte) (n int, err error) {
	if ahead := l.read - l.InputOffset(); ahead > maxPiece {
		err = fmt.Errorf("the list has a piece longer than the limit of %d bytes", maxPiece)
	} else {
		n, err = l.body.Read(b)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		l.failed = err
	}
	l.read += int64(n)
	return n, err
}

// object parses an object. It calls field with the name of each member; field
// must parse the value.
func (l *listReader) object(field func(name string) error) error {
	return l.readIn('{', func() error {
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

// array parses an array. It calls element to parse each element.
func (l *listReader) array(element func() error) error { return l.readIn('[', element) }

func (l *listReader) readIn(open json.Delim, each func() error) error {
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

// skip skips a value.
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

// node parses a key, or a folder with its contents.
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
