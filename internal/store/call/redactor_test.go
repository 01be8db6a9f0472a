package call

import "testing"

func TestPrefixEnd(t *testing.T) {
	for prefix, want := range map[string]string{"a": "b", "a\xff": "b", "\xff\xff": "", "": "", "a/": "a0", "\x7f": "\x80"} {
		if got := PrefixEnd([]byte(prefix)); string(got) != want {
			t.Errorf("PrefixEnd(%q) is %q, want %q", prefix, got, want)
		}
	}
}
