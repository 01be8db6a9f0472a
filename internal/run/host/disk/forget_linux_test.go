package disk

import (
	"slices"
	"testing"
)

// findMountsBelow finds only mounts of our file system below the folder. Their paths may contain
// any characters.
func TestMountedBelow(t *testing.T) {
	const mounts = `22 1 0:20 / /proc rw,nosuid shared:5 - proc proc rw
42 27 0:39 / /d/data/m1/data rw,nosuid - fuse.quorumbench quorumbench rw,user_id=0
43 27 0:40 / /d/data/m\0402\134/data rw,nosuid shared:1 master:2 - fuse.quorumbench quorumbench rw
44 27 0:41 / /d/data/theirs rw - fuse.sshfs host:/ rw
45 27 0:42 / /d/data rw - fuse.quorumbench quorumbench rw
46 27 0:43 / /d/data.kept/m1 rw - fuse.quorumbench quorumbench rw
47 27 0:44 / /d/data/tmp rw - tmpfs quorumbench rw
broken
`
	if got, want := findMountsBelow("/d/data", mounts), []string{"/d/data/m1/data", `/d/data/m 2\/data`}; !slices.Equal(got, want) {
		t.Errorf("found %q, not %q", got, want)
	}
}
