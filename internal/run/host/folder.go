package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// FileID identifies a file or folder independently of its name. The zero value identifies no file.
type FileID struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

// othersWriteMask contains the permission bits that let a file's group and all other users write to
// the file.
const othersWriteMask fs.FileMode = 0o022

// Folder is an open folder. Its methods continue to use this folder even if another folder replaces
// it at its path.
type Folder struct {
	path string
	root *os.Root
	info fs.FileInfo
}

// OpenFolder opens a folder that may belong to any user.
func OpenFolder(path string) (*Folder, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return newFolder(path, root)
}

func newFolder(path string, root *os.Root) (*Folder, error) {
	info, err := root.Stat(".")
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return &Folder{path, root, info}, nil
}

// Close closes the folder.
func (f *Folder) Close() { _ = f.root.Close() }

// Path returns the path that was passed to OpenFolder or Sub.
func (f *Folder) Path() string { return f.path }

// ID returns the folder's device and inode.
func (f *Folder) ID() FileID { return fileID(f.info) }

// CheckOwner returns an error, in one sentence, if another user owns the folder or can write to it.
// This other user could have listed any process in an owner file in the folder, or could have put
// any other file there.
func (f *Folder) CheckOwner() error { return checkOwned(f.info, "the folder "+f.path) }

// errLink reports that a path is a symbolic link, but must be a file or folder.
var errLink = errors.New("is a symbolic link, but must be a file or folder; remove the link")

// Sub opens a folder inside f. It returns an error if the name is a symbolic link.
func (f *Folder) Sub(name string) (*Folder, error) {
	entry, err := f.root.Lstat(name)
	switch path := filepath.Join(f.path, name); {
	case err != nil:
		return nil, err
	case entry.Mode()&fs.ModeSymlink != 0:
		return nil, fmt.Errorf("%s %w", path, errLink)
	case !entry.IsDir():
		return nil, fmt.Errorf("%s is not a folder", path)
	}
	root, err := f.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	sub, err := newFolder(filepath.Join(f.path, name), root)
	if err == nil && !os.SameFile(entry, sub.info) {
		sub.Close()
		return nil, fmt.Errorf("%s was replaced while it was being opened", filepath.Join(f.path, name))
	}
	return sub, err
}

// openBelow opens the folder at path, which must be f's path or a path below it. It does not follow
// links. If create is set, it creates all missing folders on this path.
func (f *Folder) openBelow(path string, create bool) (*Folder, error) {
	rest, err := filepath.Rel(f.path, path)
	if err != nil || !filepath.IsLocal(rest) {
		return nil, fmt.Errorf("the path %s cannot be used on this host, because all of the host's files must be in %s", path, f.path)
	}
	current, err := f.Sub(".")
	for _, name := range strings.Split(rest, "/") {
		if err != nil {
			return nil, err
		}
		parent := current
		if create {
			_ = parent.root.Mkdir(name, folderMode) // if this fails, Sub returns an error
		}
		current, err = parent.Sub(name)
		parent.Close()
	}
	return current, err
}

// checkPath returns an error if another folder has replaced this folder at f.path. Call checkPath
// before you start a program that opens the folder by its path.
func (f *Folder) checkPath() error {
	info, err := os.Stat(f.path)
	if err == nil && !os.SameFile(info, f.info) {
		err = fmt.Errorf("the folder %s or one of its parent folders was replaced", f.path)
	}
	return err
}

// Names lists the names of the folder's entries.
func (f *Folder) Names() ([]string, error) {
	dir, err := f.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	return dir.Readdirnames(-1)
}

// openOwned opens a file that only this user can write. It returns an error if the file has more
// than one hard link.
func (f *Folder) openOwned(name string, flag int) (*os.File, error) {
	file, info, err := f.open(name, flag)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(f.path, name)
	if err = checkOwned(info, "the file "+path); stat(info).Nlink > 1 {
		err = fmt.Errorf("the file %s has more than one hard link", path)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// open opens a regular file. It does not block, even if a FIFO has the name.
func (f *Folder) open(name string, flag int) (*os.File, fs.FileInfo, error) {
	path := filepath.Join(f.path, name)
	entry, err := f.root.Lstat(name)
	switch {
	case err != nil:
		return nil, nil, err
	case entry.Mode()&fs.ModeSymlink != 0:
		return nil, nil, fmt.Errorf("%s %w", path, errLink)
	case !entry.Mode().IsRegular():
		return nil, nil, fmt.Errorf("%s is not a regular file", path)
	}
	file, err := f.root.OpenFile(name, flag|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !os.SameFile(entry, info) {
		err = fmt.Errorf("the file %s was replaced while it was being opened", path)
	}
	if err != nil {
		_ = file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// appendTo opens a regular file for appending. It creates the file if it is missing.
func (f *Folder) appendTo(name string) (*os.File, error) {
	file, _, err := f.open(name, os.O_APPEND|os.O_WRONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return f.root.OpenFile(name, os.O_APPEND|os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	}
	return file, err
}

// maxNoteBytes is the maximum size of the files in which we record the processes, folders and
// objects that we created. The records of the largest possible cluster need less than 5 % of this
// size.
const maxNoteBytes = 1 << 20

// Read reads a small file that only this user can write.
func (f *Folder) Read(name string) ([]byte, error) {
	file, err := f.openOwned(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return readNote(file)
}

func readNote(file *os.File) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(file, maxNoteBytes+1))
	if err == nil && len(b) > maxNoteBytes {
		err = fmt.Errorf("the file %s is longer than %d KiB, so it was not written by quorumbench", file.Name(), maxNoteBytes>>10)
	}
	return b, err
}

// Create creates a file. It fails if the file exists.
func (f *Folder) Create(name string, contents []byte) error {
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(contents)
	return errors.Join(err, file.Close())
}

// TemporarySuffix is the suffix of the temporary file that Replace writes and then renames.
const TemporarySuffix = ".new"

// Replace atomically creates the file or replaces its contents. It returns an error if the name is
// a symbolic link.
func (f *Folder) Replace(name string, contents []byte) error {
	if entry, err := f.root.Lstat(name); err == nil && entry.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s %w", filepath.Join(f.path, name), errLink)
	}
	temporary := name + TemporarySuffix
	_ = f.root.Remove(temporary) // left by a process that was killed during Replace
	if err := f.Create(temporary, contents); err != nil {
		return err
	}
	return f.root.Rename(temporary, name)
}

// CreateFolder creates a folder inside f. It fails if an entry with this name exists.
func (f *Folder) CreateFolder(name string) (FileID, error) {
	if err := f.root.Mkdir(name, 0o700); err != nil {
		return FileID{}, err
	}
	info, err := f.root.Lstat(name)
	if err != nil {
		return FileID{}, err
	}
	return fileID(info), nil
}

// Inspect returns the ID of the entry with the given name. The result `folder` reports whether the
// entry is a folder that only this user can write. Inspect does not follow links.
func (f *Folder) Inspect(name string) (id FileID, folder bool, err error) {
	info, err := f.root.Lstat(name)
	if err != nil {
		return FileID{}, false, err
	}
	return fileID(info), info.IsDir() && checkOwned(info, "") == nil, nil
}

// IsEmpty reports whether name is an empty folder.
func (f *Folder) IsEmpty(name string) bool {
	sub, err := f.Sub(name)
	if err != nil {
		return false
	}
	defer sub.Close()
	names, err := sub.Names()
	return err == nil && len(names) == 0
}

// RemoveEmpty removes a folder and its subfolders. It keeps every folder that contains a file at
// any depth.
func (f *Folder) RemoveEmpty(name string) {
	sub, err := f.Sub(name)
	if err != nil {
		return
	}
	names, _ := sub.Names()
	for _, name := range names {
		sub.RemoveEmpty(name)
	}
	sub.Close()
	_ = f.Remove(name) // fails if the folder is not empty
}

// Lock locks the folder until the returned file is closed. It returns EWOULDBLOCK if the folder is
// already locked. On a file system without locks, Lock has no effect and returns no error.
func (f *Folder) Lock() (*os.File, error) {
	dir, err := f.root.Open(".")
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		_ = dir.Close()
		return nil, err
	}
	return dir, nil
}

// ModifiedAt returns the time of the last change to the folder's list of entries. It does not
// include changes after the folder was opened.
func (f *Folder) ModifiedAt() time.Time { return f.info.ModTime() }

// DiskUsage returns the disk space in bytes that the folder's files use, or -1 if it cannot be
// measured.
func (f *Folder) DiskUsage() int64 { return probe.FolderBytes(f.root) }

// Remove removes a file or an empty folder.
func (f *Folder) Remove(name string) error { return f.root.Remove(name) }

// RemoveAll removes a file, or a folder with its contents. It does not follow links.
func (f *Folder) RemoveAll(name string) error { return f.root.RemoveAll(name) }

// clear removes the folder's contents, and then the folder itself. If another folder has replaced f
// in the folder `parent`, clear does not remove that other folder.
func (f *Folder) clear(parent *Folder) error {
	if err := f.removeContents(); err != nil {
		return err
	}
	name := filepath.Base(f.path)
	if id, _, err := parent.Inspect(name); err != nil || id != f.ID() {
		return nil
	}
	return parent.Remove(name)
}

// removeContents removes all entries of the folder, including subfolders.
func (f *Folder) removeContents() error {
	names, err := f.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := f.root.RemoveAll(name); err != nil {
			return err
		}
	}
	return nil
}

// CreatedFolder identifies a folder that CreateFolders created.
type CreatedFolder struct {
	Path string `json:"path"`
	ID   FileID `json:"id"`
}

// CreateFolders creates a folder that only this user can access, and its missing parents. It
// returns the folders that it created, outermost first.
func CreateFolders(path string) (created []CreatedFolder, err error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, nil
	case err == nil:
		return nil, fmt.Errorf("cannot create the folder %s: a file has that name", path)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("cannot create the folder %s: %w", path, Cause(err))
	}
	if parent := filepath.Dir(path); parent != path {
		if created, err = CreateFolders(parent); err != nil {
			return created, err
		}
	}
	if err := os.Mkdir(path, 0o700); errors.Is(err, fs.ErrExist) {
		return created, nil // another process has just created it
	} else if err != nil {
		return created, fmt.Errorf("cannot create the folder %s: %w", path, Cause(err))
	}
	if info, err = os.Lstat(path); err != nil {
		return created, fmt.Errorf("cannot create the folder %s: %w", path, Cause(err))
	}
	return append(created, CreatedFolder{path, fileID(info)}), nil
}

// RemoveCreatedFolders removes those folders in `created` that are empty, innermost first. It
// returns the folders that still exist.
func RemoveCreatedFolders(created []CreatedFolder) (remaining []CreatedFolder) {
	for i := len(created) - 1; i >= 0; i-- {
		_ = created[i].remove() // fails if the folder is not empty
	}
	for _, m := range created {
		if m.Exists() {
			remaining = append(remaining, m)
		}
	}
	return remaining
}

// Exists reports whether the folder that CreateFolders created still exists at its path.
func (m CreatedFolder) Exists() bool {
	info, err := os.Lstat(m.Path)
	return err == nil && info.IsDir() && fileID(info) == m.ID
}

// remove removes the folder if it is empty and no other folder has replaced it.
func (m CreatedFolder) remove() error {
	if !m.Exists() {
		return nil // the folder was removed or replaced
	}
	return syscall.Rmdir(m.Path) // unlike os.Remove, never removes a file
}

// stat returns the operating system's metadata of a file.
func stat(info fs.FileInfo) *syscall.Stat_t { return info.Sys().(*syscall.Stat_t) }

func fileID(info fs.FileInfo) FileID {
	return FileID{Device: uint64(stat(info).Dev), Inode: stat(info).Ino}
}

// ownerID returns the user ID of a file's owner.
func ownerID(info fs.FileInfo) int { return int(stat(info).Uid) }

// checkOwned returns an error if another user owns the file or can write to it.
func checkOwned(info fs.FileInfo, what string) error {
	switch {
	case ownerID(info) != os.Geteuid():
		return fmt.Errorf("%s belongs to another user (uid %d; this user has uid %d), so the lists of processes and files in it cannot be trusted", what, ownerID(info), os.Geteuid())
	case info.Mode()&othersWriteMask != 0:
		return fmt.Errorf("other users have write access to %s (mode %#o), so the lists of processes and files in it cannot be trusted; check its contents, then remove the write access with chmod go-w", what, info.Mode().Perm())
	}
	return nil
}
