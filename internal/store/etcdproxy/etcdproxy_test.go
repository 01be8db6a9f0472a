package etcdproxy_test

import (
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/etcdproxy"
)

// TestSettingsForTLSAreRefused checks that the settings of a proxy are those of etcd, except the
// settings for TLS.
func TestSettingsForTLSAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"tls: true":                     "tls and peer-tls are not possible behind a proxy",
		"peer-tls: true":                "tls and peer-tls are not possible behind a proxy",
		"{tls: true, peer-tls: true}":   "tls and peer-tls are not possible behind a proxy",
		"log-level: chatty":             "log-level",
		"{tls: false, log-level: info}": "",
	} {
		s, err := etcdproxy.Store{}.DecodeSettings(func(into any) error { return yaml.Unmarshal([]byte(text), into) })
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: the error is %v, want %q", text, err, want)
		case want == "" && (err != nil || s.(*etcd.Settings).LogLevel != "info"):
			t.Errorf("%s: the settings are %+v, %v", text, s, err)
		}
	}
	if _, err := (etcdproxy.Store{}).DecodeSettings(nil); err != nil {
		t.Errorf("the default settings are refused: %v", err)
	}
}
