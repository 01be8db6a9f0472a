package disk

import "golang.org/x/sys/unix"

// forget unmounts a folder whose server has ended.
func forget(at string) {
	var st unix.Stat_t
	if unix.Stat(at, &st) == unix.ENOTCONN {
		_ = unix.Unmount(at, unix.MNT_DETACH)
	}
}
