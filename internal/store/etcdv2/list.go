package etcdv2

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The v2 API lists keys together with their values and has no pages, so a list can be as large as
// the whole store. Therefore a list is parsed in small parts. The parser discards the values. It
// keeps only the names of one page, and these keys are removed before the next list is read.

const (
	// maxList limits the number of bytes that are read from a list.
	maxList = 256 << 20
	// maxPiece limits how many bytes the JSON decoder may read ahead for one token, such as a
	// value or the white space between two values.
	maxPiece = 8 << 20
	// maxNested limits how deep folders may be nested.
	maxNested = 10_000
	// Limits for a page: the number of removals, and the total length of their names in bytes.
	pageRemovals = 50_000
	pageBytes    = 8 << 20
)

// removal is what one request removes: a key, or a folder with all its contents.
type removal struct {
	name string
	dir  bool
	keys int64 // number of keys in the folder; 1 for a key
}

// page is a batch of removals, which are carried out before the next list is read.
type page struct {
	prefix   string // all removals' names start with this prefix, after a leading slash
	removals []removal
	bytes    int  // total length of the names
	full     bool // set if the list may contain more keys or folders to remove
}

var (
	errNoList   = errors.New("the response is not a list of keys")
	errPageFull = errors.New("the page is full")
)

// read reads one page from the list of the folder that contains the prefix.
func (p *page) read(body io.Reader) error {
	p.removals, p.bytes, p.full = nil, 0, false
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
	case l.readError != nil:
		return l.readError
	case err != nil:
		return errNoList
	}
	return nil
}

// readNode reads one key or folder in the list and adds it to the page if it has the prefix.
func (p *page) readNode(l *listReader) error {
	n, err := l.node(1)
	if err != nil {
		return err
	}
	if name, ok := strings.CutPrefix(n.name, "/"); !ok || !strings.HasPrefix(name, p.prefix) {
		return nil
	}
	p.removals = append(p.removals, n)
	if p.bytes += len(n.name); len(p.removals) >= pageRemovals || p.bytes >= pageBytes {
		return errPageFull
	}
	return nil
}

// listReader parses JSON without reading far ahead.
type listReader struct {
	*json.Decoder
	body      io.Reader
	read      int64 // number of bytes that were read from body
	readError error // the error that body returned
}

func newListReader(body io.Reader) *listReader {
	l := &listReader{body: body}
	l.Decoder = json.NewDecoder(l)
	return l
}

// Read implements io.Reader for the JSON decoder. The decoder buffers all input that it has not
// parsed yet. Read returns an error if the buffer contains more than maxPiece bytes.
func (l *listReader) Read(b []byte) (n int, err error) {
	if ahead := l.read - l.InputOffset(); ahead > maxPiece {
		err = fmt.Errorf("the list contains a value longer than the limit of %d bytes", maxPiece)
	} else {
		n, err = l.body.Read(b)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		l.readError = err
	}
	l.read += int64(n)
	return n, err
}

// object parses an object. It calls the function `field` with the name of each member, and the
// function must parse the member's value.
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

// array parses an array. It calls the function `element` once for each element, and the function
// must parse the element's value.
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

// skip skips a value of any type.
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

// node parses a key, or a folder and all its contents.
func (l *listReader) node(depth int) (n removal, err error) {
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
