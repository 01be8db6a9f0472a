package zookeeper

import (
	"bytes"
	"unicode/utf8"

	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// The path of a key is the key itself, with a slash in front if it does not begin with a slash.
// Keys are not escaped. The codec refuses a key that is not a valid path, so a node's path
// differs from its key at most by the leading slash.

// pathOf returns the path of a key. If the key is not a valid path, it also returns the reason.
func pathOf(key []byte) (jute.Path, string) {
	p := jute.Path{Rest: key}
	names := key
	if len(key) > 0 && key[0] == '/' {
		names = key[1:]
	} else {
		p.Prefix = "/"
	}
	return p, invalidPathReason(names)
}

// invalidPathReason returns the reason why names, which are separated by slashes, are not a valid
// ZooKeeper path, or "" if they are valid. The rules are from PathUtils.validatePath and from the
// documentation of ZooKeeper's data model.
func invalidPathReason(names []byte) string {
	start := 0 // start of the current name
	for i := 0; i < len(names); i++ {
		switch b := names[i]; {
		case b == '/':
			if reason := invalidNameReason(names[start:i]); reason != "" {
				return reason
			}
			start = i + 1
		case b < 0x20, b == 0x7f:
			return "a key with a control character cannot be a ZooKeeper path"
		case b >= utf8.RuneSelf:
			r, n := utf8.DecodeRune(names[i:])
			if reason := invalidRuneReason(r, n); reason != "" {
				return reason
			}
			i += n - 1
		}
	}
	return invalidNameReason(names[start:])
}

func invalidNameReason(name []byte) string {
	switch {
	case len(name) == 0:
		return "a key that is empty, ends with a slash or contains two slashes in a row cannot be a ZooKeeper path"
	case name[0] == '.' && (len(name) == 1 || len(name) == 2 && name[1] == '.'):
		return "a key in which a name between slashes is . or .. cannot be a ZooKeeper path"
	}
	return ""
}

func invalidRuneReason(r rune, n int) string {
	switch {
	case r == utf8.RuneError && n <= 1:
		return "a key that is not UTF-8 cannot be a ZooKeeper path"
	case r < 0xa0, r >= 0xd800 && r <= 0xf8ff, r >= 0xfff0: // Java represents characters above U+FFFF as surrogates
		return "a key with a character that ZooKeeper does not allow (controls, private use, specials, beyond U+FFFF) cannot be a ZooKeeper path"
	}
	return ""
}

// parentOf returns the parent of a path.
func parentOf(p jute.Path) jute.Path {
	if p.Prefix == "" && len(p.Rest) == 1 {
		return p // the root
	}
	i := bytes.LastIndexByte(p.Rest, '/')
	switch {
	case i < 0:
		return jute.Path{Prefix: "/"}
	case i == 0 && p.Prefix == "":
		return jute.Path{Prefix: "/"}
	}
	return jute.Path{Prefix: p.Prefix, Rest: p.Rest[:i]}
}

// nextAncestor finds the next ancestor in a complete path. It searches for the first slash at or
// after the index `from`. The result `end` is the index of this slash, where the ancestor ends.
// The result `ok` is false if no slash follows.
func nextAncestor(path []byte, from int) (end int, ok bool) {
	i := bytes.IndexByte(path[min(from, len(path)):], '/')
	return from + i, i >= 0
}
