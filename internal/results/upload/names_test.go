package upload

import (
	"encoding/hex"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	for path, want := range map[string]string{
		"trial-01-put/latency.hlog": "trial-01-put/latency.hlog",
		"a b\n!\xff":                "a!20b!0A!21!FF",
		"..x/..../y..":              "..x/...!2E/y.!2E",
	} {
		if got := escape(path); got != want {
			t.Errorf("%q becomes %q, not %q", path, got, want)
		}
	}
}

// FuzzEscape checks that names contain only allowed characters, that no part ends with a dot, and
// that the path can be recovered from the name.
func FuzzEscape(f *testing.F) {
	for _, path := range []string{"run.json", "a/b", "..", "a../b", "\x00\xff", "日本", "!21"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		name := escape(path)
		for part := range strings.SplitSeq(name, "/") {
			if strings.HasSuffix(part, ".") {
				t.Errorf("%q becomes %q", path, name)
			}
		}
		var back strings.Builder
		for i := 0; i < len(name); i++ {
			if name[i] != '!' {
				if !isUnescaped(name[i]) {
					t.Fatalf("%q has %q", name, name[i])
				}
				back.WriteByte(name[i])
				continue
			}
			b, err := hex.DecodeString(name[i+1 : i+3])
			if err != nil {
				t.Fatal(err)
			}
			back.Write(b)
			i += 2
		}
		if back.String() != path {
			t.Errorf("%q is encoded as %q, which decodes as %q", path, name, back.String())
		}
	})
}

func TestURLs(t *testing.T) {
	for text, want := range map[string]string{
		"s3://bucket":                      "s3://bucket",
		"s3://bucket/":                     "s3://bucket",
		"s3://bucket/a/b/?region=x":        "s3://bucket/a/b",
		"gs://my.bucket_1/a":               "gs://my.bucket_1/a",
		"s3://b/a?ssetype=aws:kms":         "s3://b/a",
		"file:///srv/../srv/runs/":         "file:///srv/runs",
		"file://localhost/srv/r%20u%20n":   "file:///srv/r u n",
		"s3://b?endpoint=http://1.2.3.4:5": "s3://b",
	} {
		if got := parse(t, text).String(); got != want {
			t.Errorf("%s is %s, not %s", text, got, want)
		}
	}
	const secret = "hunter2hunter2"
	for text, why := range map[string]string{
		"":                                      "not the URL",
		"runs":                                  "not the URL",
		"/srv/runs":                             "not the URL",
		"s3:bucket":                             "not the URL",
		"http://bucket":                         `uploads to "http://" are not supported`,
		"s3://":                                 "contains no valid bucket name",
		"s3://bucket:9000":                      "?endpoint=",
		"s3://buc ket":                          "not the URL",
		"s3://bucket/a//b":                      "empty part",
		"s3://bucket/../b":                      "empty part",
		"s3://bucket/a%0ab":                     "not printable",
		"s3://bucket#x":                         "#",
		"s3://bucket?region=a&region=b":         "more than once",
		"s3://bucket?%zz":                       "cannot parse",
		"file://srv/runs":                       "three slashes",
		"file://./runs":                         "three slashes",
		"file:///runs?x=1":                      "accept no parameters",
		"gs://bucket?x=1":                       "the parameters are endpoint",
		"azblob://bucket":                       `uploads to "azblob://" are not supported; use s3://BUCKET/FOLDER, gs://BUCKET/FOLDER or file:///FOLDER`,
		"az://bucket/a":                         `uploads to "az://" are not supported; use s3://BUCKET/FOLDER, gs://BUCKET/FOLDER or file:///FOLDER`,
		"s3://bucket?fips=perhaps":              "the parameter fips in the URL must be true or false",
		"s3://bucket?ssetype=none":              "the parameter ssetype in the URL must be AES256 or aws:kms",
		"s3://AKIA:" + secret + "@bucket":       "AWS_ACCESS_KEY_ID",
		"s3://AKIA:" + secret + "/b":            "not the URL",
		"gs://" + secret + "@bucket":            "GS_ACCESS_KEY_ID",
		"gs://bucket?sig=" + secret:             "not accept the parameter sig",
		"s3://bucket?X-Amz-Signature=" + secret: "not accept the parameter X-Amz-Signature",
		"s3://bucket?endpoint=http://a:" + secret + "@host":       "the endpoint",
		"s3://bucket?endpoint=http://host%3Fx=" + secret:          "the endpoint",
		"s3://bucket?endpoint=" + secret:                          "the endpoint",
		"s3://bucket?endpoint=http://h&endpoint=http://" + secret: "more than once",
	} {
		_, err := Parse(text)
		if err == nil {
			t.Errorf("%s is taken", text)
			continue
		}
		sentence(t, err, why)
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error contains the secret: %s", text, err)
		}
	}
}

// FuzzParse checks that an accepted URL has a bucket and a valid folder, and that an error has one
// line.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"s3://bucket/a?endpoint=http://h:1", "file:///srv/runs", "gs://b?endpoint=https://x", "s3://a-b/a%20b", "s3://a:b@c", "s3://b?%", "file:///%00", "://",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse(text)
		if err != nil {
			sentence(t, err)
			return
		}
		if d.bucket == "" || d.folder != "" && !strings.HasSuffix(d.folder, "/") || strings.Contains("/"+d.folder, "/../") {
			t.Errorf("%q is %+v", text, d)
		}
	})
}
