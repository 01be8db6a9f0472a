package upload

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/quorumbench/quorumbench/internal/files"
)

// maxFiles is the maximum number of entries in a run directory. The largest run that quorumbench
// can read has 20,000 trials and about 300,000 entries.
const maxFiles = 500_000

// dataFolder is the name of the folder with the members' data during a run. A killed run leaves
// this folder behind.
const dataFolder = "data"

// tree lists the files of a run directory that the upload sends, and the entries that it does not
// send.
type tree struct {
	dir     string // an absolute path without links
	files   []file
	omitted []OmittedEntry
}

// file is a regular file of a run directory.
type file struct {
	path string // relative to the run directory
	name string // name of the object, relative to the run's folder
	info fs.FileInfo
}

// OmittedEntry is an entry of a run directory that the upload does not send.
type OmittedEntry struct {
	Name   string `json:"name"` // escaped like object names
	Reason string `json:"why"`
}

// newTree lists the files of a run directory. It does not follow links.
func newTree(dir string) (*tree, error) {
	whole, err := filepath.Abs(dir)
	if err == nil {
		whole, err = filepath.EvalSymlinks(whole)
	}
	if err != nil {
		return nil, unreadable(dir, err)
	}
	t := &tree{dir: whole}
	entries := 0
	err = filepath.WalkDir(whole, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == whole {
			return err
		}
		if entries++; entries > maxFiles {
			return fmt.Errorf("it contains more than %d files, which is the limit for a run directory", maxFiles)
		}
		below, err := filepath.Rel(whole, path)
		if err != nil {
			return err
		}
		return t.add(below, d)
	})
	if err != nil {
		return nil, unreadable(dir, err)
	}
	return t, nil
}

// add adds a file, or the reason why it is not sent.
func (t *tree) add(path string, d fs.DirEntry) error {
	name := escape(filepath.ToSlash(path))
	reason := ""
	switch {
	case name == manifestName:
		return nil // the manifest of a downloaded copy of the run; it is not part of the run
	case !fits(name):
		reason = "its name is too long"
	case !utf8.ValidString(path):
		reason = "its name is not UTF-8"
	case d.IsDir() && path == dataFolder:
		reason = "it is the members' data, which a killed run left behind"
	case d.IsDir():
		return nil
	case d.Type()&fs.ModeSymlink != 0:
		reason = "it is a symbolic link, which an upload does not follow"
	case !d.Type().IsRegular():
		reason = "it is not a regular file"
	default:
		info, err := d.Info()
		if err != nil {
			return err
		}
		t.files = append(t.files, file{path: path, name: name, info: info})
		return nil
	}
	t.omitted = append(t.omitted, OmittedEntry{Name: name[:min(len(name), maxName)], Reason: reason})
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

func unreadable(dir string, err error) error {
	return fmt.Errorf("cannot read the run directory %s: %w", dir, err)
}

// contentSums identifies the contents of a file.
type contentSums struct {
	size int64
	md5  string // binary; the hash that object stores report
	sha  string // SHA-256 in hexadecimal
}

// errChanged is the error for a file that changed during the upload, probably because another
// process is writing to it.
var errChanged = errors.New("it changed while quorumbench was reading it; if the run is still active, wait until it ends")

// source reads a file and computes the sums of its contents.
type source struct {
	ctx       context.Context // checked by Read, because a store in a folder does not check its context during a write
	f         *os.File
	remaining int64 // number of remaining bytes, according to the size of the file when it was listed
	md5, sha  hash.Hash
	size      int64
	onRead    func(n int)
	err       error // error from reading the file, which the destination did not cause
}

// open opens a file of the tree for sending. It returns an error if a different file has replaced
// the file since it was listed. After each read, the source calls the function `read` with the
// number of bytes.
func (t *tree) open(ctx context.Context, f file, read func(n int)) (*source, error) {
	opened, err := files.OpenIn(t.dir, f.path)
	if err != nil {
		return nil, unreadable(t.dir, err)
	}
	s := &source{ctx: ctx, f: opened, remaining: f.info.Size(), md5: md5.New(), sha: sha256.New(), onRead: read}
	info, err := opened.Stat()
	if err == nil && !os.SameFile(info, f.info) {
		err = errChanged
	}
	if err != nil {
		s.close()
		return nil, t.sendError(f, err)
	}
	return s, nil
}

func (t *tree) sendError(f file, err error) error {
	return fmt.Errorf("cannot send %s: %w", filepath.Join(t.dir, f.path), err)
}

// Read implements io.Reader. It returns an error if the length of the file has changed since the
// file was listed.
func (s *source) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.f.Read(p)
	_, _ = s.md5.Write(p[:n]) // a hash never fails
	_, _ = s.sha.Write(p[:n])
	s.size += int64(n)
	s.remaining -= int64(n)
	s.onRead(n)
	if s.remaining < 0 || errors.Is(err, io.EOF) && s.remaining > 0 {
		err = errChanged
	}
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// Seek implements io.Seeker, but supports only the start of the file, so that a request can be
// repeated.
func (s *source) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekStart {
		return 0, errors.ErrUnsupported
	}
	if s.err != nil {
		return 0, s.err
	}
	s.remaining, s.size = s.remaining+s.size, 0
	s.md5.Reset()
	s.sha.Reset()
	return s.f.Seek(0, io.SeekStart)
}

func (s *source) close() { _ = s.f.Close() } // it was only read

func (s *source) sums() contentSums {
	return contentSums{size: s.size, md5: string(s.md5.Sum(nil)), sha: hex.EncodeToString(s.sha.Sum(nil))}
}

// sum reads a file and returns the sums of its contents.
func (t *tree) sum(ctx context.Context, f file, read func(n int)) (contentSums, error) {
	s, err := t.open(ctx, f, read)
	if err != nil {
		return contentSums{}, err
	}
	defer s.close()
	_, err = io.Copy(io.Discard, s)
	if s.err != nil {
		err = t.sendError(f, s.err)
	}
	if err != nil {
		return contentSums{}, err
	}
	return s.sums(), nil
}
