package call

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/quorumbench/quorumbench/internal/files"
)

// Each reads a recording and calls do with each record, whose memory stays as it is.
// An error of do ends the reading and is returned. A file that was cut off, as by a
// crash, or damaged, is read up to there, and problem says so in a sentence.
func Each(path string, do func(Record) error) (h Header, problem string, err error) {
	f, err := files.Open(path)
	if err != nil {
		return h, "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	h, problem, err = EachFrom(f, do)
	var foreign notOurs
	switch {
	case errors.As(err, &foreign):
		err = fmt.Errorf("%s is no recording of quorumbench: %w", path, err)
	case problem != "":
		problem = path + ": " + problem
	}
	return h, problem, err
}

// notOurs is why something is no recording.
type notOurs string

func (n notOurs) Error() string { return string(n) }

// EachFrom is Each of what a reader has.
func EachFrom(from io.Reader, do func(Record) error) (h Header, problem string, err error) {
	in := bufio.NewReaderSize(from, 1<<18)
	first := make([]byte, len(magic))
	if _, err := io.ReadFull(in, first); err != nil || string(first) != magic {
		return h, "", notOurs("it begins with other bytes")
	}
	var f files.Frame
	if f.Read(in) != nil {
		return h, "", notOurs("its header is damaged")
	}
	if json.Unmarshal(f.Packed, &h) != nil || h.Store == "" {
		return h, "", notOurs("its header cannot be read")
	}
	code, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(files.MaxFrame))
	if err != nil {
		return h, "", err
	}
	defer code.Close()
	for {
		switch err := f.Read(in); {
		case errors.Is(err, files.ErrCut):
			return h, "the recording was not closed: what came before its end is read", nil
		case err != nil:
			return h, "the recording is damaged: what comes before the damage is read", nil
		case f.Count == 0:
			return h, "", nil
		}
		raw, err := code.DecodeAll(f.Packed, nil)
		if err != nil || len(raw) != f.Size {
			return h, "the recording is damaged: what comes before the damage is read", nil
		}
		switch err := Decode(raw, do); {
		case errors.Is(err, errRecord):
			return h, "the recording is damaged: what comes before the damage is read", nil
		case err != nil:
			return h, "", err
		}
	}
}

// ReadHeader reads what a recording is of.
func ReadHeader(path string) (Header, error) {
	h, _, err := Each(path, func(Record) error { return errEnough })
	if errors.Is(err, errEnough) {
		err = nil
	}
	return h, err
}

var errEnough = errors.New("enough")
