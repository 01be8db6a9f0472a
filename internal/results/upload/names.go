package upload

import (
	"fmt"
	"strings"
)

// Limits of a name's length in bytes: of a part, for most file systems, and of the whole,
// for S3, with room for a prefix.
const (
	maxPart = 240
	maxName = 700
)

// escape returns the object name for a path in a run directory, with slashes. Letters,
// digits, points, dashes and underscores stay; any other byte becomes an exclamation mark
// and two hexadecimal digits. So does a point at the end of a part, because some file
// systems drop it.
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

// fits reports whether every store accepts a name.
func fits(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if len(part) > maxPart {
			return false
		}
	}
	return len(name) <= maxName
}

// contentType returns the media type of an object, for browsers.
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

// manifestName is the name of the object that is written last: if it is missing or differs
// from the objects, the upload was not completed.
const manifestName = "upload-manifest.json"
