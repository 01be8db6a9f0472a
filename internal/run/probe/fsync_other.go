//go:build !linux

package probe

import "os"

// fileSystem returns "unknown". An unknown file system is assumed to be durable.
func fileSystem(*os.File) (name string, durable bool) { return "unknown", true }

func preallocate(*os.File, int64) {}

// fdatasync calls fsync. On macOS, this also flushes the drive's cache.
func fdatasync(f *os.File) error { return f.Sync() }
