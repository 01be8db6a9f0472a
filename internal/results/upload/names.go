package upload

import (
	"fmt"
	"strings"
)

// What a name may have in bytes: a part of it, as most file systems have it, and
// the whole of it, as S3 has it, with room for what stands before it.
const (
	maxPart = 240
	maxName = 700
)

// escape makes the name of an object of a path below a run directory, with
// slashes. Letters, digits, points, dashes and underscores stay; any other byte is
// an exclamation mark and two hexadecimal digits. So is a point at the end of a part,
// which some file systems drop.
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

// fits reports whether a name can be had everywhere.
func fits(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if len(part) > maxPart {
			return false
		}
	}
	return len(name) <= maxName
}

// contentType is what a browser is to think of an object.
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

// manifestName is the object that is written last: without it, or with one that
// does not fit what is there, a run was not sent whole.
const manifestName = "upload-manifest.json"
