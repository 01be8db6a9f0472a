//go:build !linux

package probe

import "os"

// fileSystem returns "unknown", which is assumed to be durable.
func fileSystem(*os.File) (name string, durable bool) { return "unknown", true }

func preallocate(*os.File, int64) {}

// fdatasync calls fsync, which on macOS also flushes the drive's cache.
func fdatasync(f *os.File) error { return f.Sync() }
