package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/quorumbench/quorumbench/internal/files"
)

// maxTrialFile is the maximum number of bytes that are read at once from a file in a trial's folder.
// The files that a run writes are far smaller.
const maxTrialFile = 256 << 20

// trialFile is a file in a trial's folder to which a run appends lines. Each line, except the header
// of a CSV file, is a record. An incomplete last line is ignored, because the run may still be
// writing it.
type trialFile[T any] struct {
	name  string
	parse func([]byte) ([]T, error)
}

var (
	timelineRows = trialFile[Row]{timelineFile, readTimeline}
	eventLines   = trialFile[Event]{eventsFile, readEvents}
	machineRows  = trialFile[MachineRow]{machinesFile, readMachines}
	storeRows    = trialFile[StoreRow]{storesFile, readStores}
)

// open reads the file in a trial's folder. If the file is missing, it counts as empty.
func (f trialFile[T]) open(dir, folder string) ([]T, error) {
	if !filepath.IsLocal(folder) {
		return nil, fmt.Errorf("%q is not a folder in the run directory", folder)
	}
	all, err := f.read(dir, folder)
	if err != nil {
		err = fmt.Errorf("%s: %w", filepath.Join(dir, folder, f.name), err)
	}
	return all, err
}

// readInto returns a function that reads the file into *to. If reading fails, the function returns
// a sentence about the error.
func (f trialFile[T]) readInto(to *[]T, dir, folder string) func() string {
	return func() (problem string) {
		var err error
		if *to, err = f.read(dir, folder); err != nil {
			problem = fmt.Sprintf("Cannot read %s: %v.", filepath.Join(folder, f.name), err)
		}
		return problem
	}
}

// read is like open, but its error does not contain the path of the file.
func (f trialFile[T]) read(dir, folder string) ([]T, error) {
	b, err := files.ReadIn(dir, filepath.Join(folder, f.name), maxTrialFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return f.parse(b[:bytes.LastIndexByte(b, '\n')+1])
}

// tailFile is the position in a file that grows.
type tailFile struct {
	offset int64
	header []byte // the first line of a CSV file
}

// readAppended reads the lines that were appended to the file since the previous call with the same
// position. The file may be missing.
func (f trialFile[T]) readAppended(position *tailFile, dir, folder string) ([]T, error) {
	path := filepath.Join(folder, f.name)
	b, err := position.lines(dir, path)
	if err != nil || len(b) == 0 {
		return nil, err
	}
	if filepath.Ext(f.name) == ".csv" {
		if position.header == nil {
			position.header = bytes.Clone(b[:bytes.IndexByte(b, '\n')+1])
		} else {
			b = append(bytes.Clone(position.header), b...)
		}
	}
	all, err := f.parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, path), err)
	}
	return all, nil
}

// lines returns the complete lines that were appended to a file since the previous call.
func (f *tailFile) lines(dir, path string) ([]byte, error) {
	in, err := files.OpenIn(dir, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // it was only read
	b, err := io.ReadAll(io.NewSectionReader(in, f.offset, maxTrialFile))
	if err != nil {
		return nil, err
	}
	b = b[:bytes.LastIndexByte(b, '\n')+1]
	f.offset += int64(len(b))
	return b, nil
}
