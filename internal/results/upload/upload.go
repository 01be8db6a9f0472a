// Package upload sends a run directory to a bucket in an object store, or to another folder. It can
// continue an interrupted upload. At the end, it compares all objects with the files, by size and
// hash, and writes a manifest that lists the files.
package upload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/quorumbench/quorumbench/internal/files"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// defaultTransferTimeout is the default for Options.TransferTimeout.
const defaultTransferTimeout = 10 * time.Minute

// Check opens a destination and sends a request to it, so that problems with the destination are
// detected before a run. An error is one sentence.
func (d *Destination) Check(ctx context.Context) error {
	w := newWatchdog(ctx, defaultTransferTimeout, d)
	defer w.stop()
	b, err := d.open(w.ctx, w.reset)
	if err != nil {
		return err
	}
	return b.Close()
}

// Send sends a run directory to a folder with the same name at the destination. It does not send a
// file if the object at the destination is already identical. An error is one sentence. After an
// error, another call continues the upload.
func (d *Destination) Send(ctx context.Context, dir string, o Options) (SendResult, error) {
	t, err := newTree(dir)
	if err != nil {
		return SendResult{}, err
	}
	run, err := readRun(t.dir)
	if err != nil {
		return SendResult{}, err
	}
	if err := cmp.Or(d.checkOutside(t.dir), d.refuseSpecialFiles(escape(filepath.Base(t.dir)))); err != nil {
		return SendResult{}, err
	}
	if o.TransferTimeout == 0 {
		o.TransferTimeout = defaultTransferTimeout
	}
	w := newWatchdog(ctx, o.TransferTimeout, d)
	defer w.stop()
	b, err := d.open(w.ctx, w.reset)
	if err != nil {
		return SendResult{}, err
	}
	defer func() { _ = b.Close() }() // Close cannot lose data, because each write has already been completed
	name := escape(filepath.Base(t.dir))
	s := &uploadState{
		target: d, tree: t, run: run, bucket: b, name: name, folder: d.folder + name + "/",
		options: o, objectSums: map[string]contentSums{}, verified: map[string]bool{},
	}
	sent, err := s.sendEverything(w.ctx)
	var ours *localError
	if err != nil && !errors.As(err, &ours) {
		err = d.explain(w.ctx, err)
	}
	return sent, err
}

func readRun(dir string) (*record.Run, error) {
	b, err := files.ReadIn(dir, runName, record.MaxRunFile)
	if err != nil {
		return nil, fmt.Errorf("cannot upload %s as a run directory: %w", dir, err)
	}
	run, err := record.Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, runName), err)
	}
	return run, nil
}

// checkOutside returns an error if the destination is inside the run directory, or if the run
// directory is already at the destination.
func (d *Destination) checkOutside(dir string) error {
	if d.scheme != schemeFile {
		return nil
	}
	to, err := filepath.EvalSymlinks(d.bucket)
	if err != nil {
		return nil // opening the destination will return the error
	}
	if below, err := filepath.Rel(dir, to); err == nil && filepath.IsLocal(below) {
		return fmt.Errorf("%s is inside the run directory; choose another folder", d)
	}
	if filepath.Join(to, filepath.Base(dir)) == dir {
		return fmt.Errorf("the run directory %s is already in %s; choose another folder", dir, d)
	}
	return nil
}

// refuseSpecialFiles returns an error if the destination is on this machine and the run's folder
// there contains links, pipes or devices. A write could follow a link, or block at a pipe.
func (d *Destination) refuseSpecialFiles(name string) error {
	if d.scheme != schemeFile {
		return nil
	}
	return filepath.WalkDir(filepath.Join(d.bucket, name), func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return fmt.Errorf("cannot read the destination %s: %w", d, err)
		case e.IsDir() || e.Type().IsRegular():
			return nil
		}
		what := "not a regular file"
		if e.Type()&fs.ModeSymlink != 0 {
			what = "a link"
		}
		return fmt.Errorf("%s is %s, which an upload does not write to; remove it, or choose another folder", text.Line(path, text.MaxField), what)
	})
}
