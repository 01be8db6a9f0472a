package call

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/quorumbench/quorumbench/internal/files"
)

// ReadRecording reads a recording and calls the function do for each record. That function may keep
// the record. If it returns an error, ReadRecording stops and returns the error. If the file is
// damaged or truncated, ReadRecording reads the records before the damage, and problem is a
// sentence that describes the damage.
func ReadRecording(path string, do func(Record) error) (h Header, problem string, err error) {
	f, err := files.Open(path)
	if err != nil {
		return h, "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	h, problem, err = ReadRecordingFrom(f, do)
	var foreign notRecording
	switch {
	case errors.As(err, &foreign):
		err = fmt.Errorf("%s is not a recording of quorumbench: %w", path, err)
	case problem != "":
		problem = path + ": " + problem
	}
	return h, problem, err
}

// notRecording is an error that explains why a file is not a recording.
type notRecording struct{ error }

var errForeign = errors.New("the file does not begin with the bytes of a recording")

// ReadRecordingFrom is like ReadRecording, but reads the recording from an io.Reader.
func ReadRecordingFrom(input io.Reader, do func(Record) error) (h Header, problem string, err error) {
	in := bufio.NewReaderSize(input, 1<<18)
	err = files.ReadBlockHeader(in, signature, errForeign, &h)
	if err == nil && h.Store == "" {
		err = files.ErrUnreadableHeader
	}
	if err != nil {
		return h, "", notRecording{err}
	}
	code, err := files.NewBlockDecoder(1)
	if err != nil {
		return h, "", err
	}
	defer code.Close()
	var f files.Frame
	for {
		switch err := f.Read(in); {
		case errors.Is(err, files.ErrIncomplete):
			return h, "the recording was not closed: only the records before the end of the file are read", nil
		case errors.Is(err, files.ErrDamaged):
			return h, "the recording is damaged: only the records before the damage are read", nil
		case err != nil:
			return h, fmt.Sprintf("the recording cannot be read to its end: only the records before the error are read (%v)", err), nil
		case f.Count == 0:
			return h, "", nil
		}
		raw, err := f.Unpack(code, nil)
		if err != nil {
			return h, "the recording is damaged: only the records before the damage are read", nil
		}
		switch err := DecodeBlock(raw, do); {
		case errors.Is(err, errDamagedRecord):
			return h, "the recording is damaged: only the records before the damage are read", nil
		case err != nil:
			return h, "", err
		}
	}
}

// ReadRecordingHeader returns the header of a recording without reading any records.
func ReadRecordingHeader(path string) (Header, error) {
	h, _, err := ReadRecording(path, func(Record) error { return errHeaderRead })
	if errors.Is(err, errHeaderRead) {
		err = nil
	}
	return h, err
}

var errHeaderRead = errors.New("enough")
