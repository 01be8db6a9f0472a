package upload

import (
	"fmt"
	"strings"
)

// Limits for the length of a name, in bytes. The limit for a part of the name is for most file
// systems. The limit for the whole name is the limit of S3, minus room for a prefix.
const (
	maxPart = 240
	maxName = 700
)

// escape returns the name of the object for a path in a run directory. Slashes, letters, digits,
// points, dashes and underscores are not escaped. Any other byte becomes an exclamation mark and
// two hexadecimal digits. A point at the end of a part is also escaped, because some file systems
// remove it.
func escape(path string) string {
	var b strings.Builder
	for i := range len(path) {
		rest, _, _ := strings.Cut(path[i:], "/")
		if keeps(path[i]) && rest != "." {
			b.WriteByte(path[i])
		} else {
			fmt.Fprintf(&b, "!%02X", path[i])
		}
	}
	return b.String()
}

func keeps(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_' || c == '/'
}

// fits reports whether all stores accept a name.
func fits(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if len(part) > maxPart {
			return false
		}
	}
	return len(name) <= maxName
}

// contentType returns the media type of an object, which browsers need.
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

// manifestName is the name of the object that is written last. If it is missing or does not match
// the objects, the upload did not complete.
const manifestName = "upload-manifest.json"
