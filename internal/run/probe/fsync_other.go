//go:build !linux

package probe

import "os"

// fileSystem is not known here, and believed to be durable.
func fileSystem(*os.File) (name string, durable bool) { return "unknown", true }

func preallocate(*os.File, int64) {}

// fdatasync is the system's fsync, which on macOS asks the drive too.
func fdatasync(f *os.File) error { return f.Sync() }
