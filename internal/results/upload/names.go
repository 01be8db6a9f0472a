package upload

import (
	"fmt"
	"strings"
)

// Maximum lengths, in bytes: maxName limits the whole name of an object, and maxPart limits each
// part of the name between slashes. Most file systems limit a part to 255 bytes, and the name of a
// temporary file is 21 bytes longer than that of its object. The limit for the whole name is lower
// than the limit of S3, to leave room for a prefix.
const (
	maxPart = 230
	maxName = 700
)

// escape returns the name of the object for a path in a run directory. It replaces each byte,
// except for slashes, letters, digits, dots, dashes and underscores, with an exclamation mark and
// two hexadecimal digits. It also escapes a dot at the end of a part, because some file systems
// remove such a dot.
func escape(path string) string {
	var b strings.Builder
	for i := range len(path) {
		rest, _, _ := strings.Cut(path[i:], "/")
		if isUnescaped(path[i]) && rest != "." {
			b.WriteByte(path[i])
		} else {
			fmt.Fprintf(&b, "!%02X", path[i])
		}
	}
	return b.String()
}

func isUnescaped(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_' || c == '/'
}

// fits reports whether a name is short enough for all stores.
func fits(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if len(part) > maxPart {
			return false
		}
	}
	return len(name) <= maxName
}

// contentType returns the media type of an object, so that browsers can display the object.
func contentType(name string) string {
	for ending, is := range map[string]string{
		".json": "application/json", ".jsonl": "application/x-ndjson", ".xml": "application/xml",
		".html": "text/html; charset=utf-8", ".md": "text/markdown; charset=utf-8",
		".csv": "text/csv; charset=utf-8", ".hlog": "text/plain; charset=utf-8", ".log": "text/plain; charset=utf-8",
	} {
		if strings.HasSuffix(name, ending) {
			return is
		}
	}
	return "application/octet-stream"
}

// manifestName is the name of the manifest, which is the last object that an upload writes. If the
// manifest is missing or does not match the objects, the upload is incomplete.
const manifestName = "upload-manifest.json"
