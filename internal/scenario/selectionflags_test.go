package scenario

import "testing"

// The flags select the cluster in the same way as the run did. They contain no password, and a shell
// reads each value unchanged.
func TestSelectionFlags(t *testing.T) {
	for _, test := range []struct {
		cluster RunningCluster
		want    string
	}{
		{RunningCluster{Endpoints: []string{"a:1", "b:2"}}, " --endpoints a:1,b:2"},
		{RunningCluster{Endpoints: []string{"a:1", "b:2"}, TLS: true}, " --endpoints https://a:1,https://b:2"},
		{RunningCluster{Endpoints: []string{"https://a:1"}, TLS: true}, " --endpoints https://a:1"},
		{RunningCluster{Endpoints: []string{"a:1"}, TLS: true, CACert: "our ca.crt", Cert: "c.crt", CertKey: "c.key"}, " --endpoints a:1 --cacert 'our ca.crt' --cert c.crt --key c.key"},
		{RunningCluster{Endpoints: []string{"a:1"}, SkipVerify: true, User: "root:secret"}, " --endpoints a:1 --insecure-skip-tls-verify --user NAME:PASSWORD"},
		{RunningCluster{Endpoints: []string{"a:1"}, User: "root:env:PW"}, " --endpoints a:1 --user root:env:PW"},
		{RunningCluster{Endpoints: []string{"http://root:secret@a:1?token=x"}}, " --endpoints http://a:1..."},
	} {
		if got := test.cluster.SelectionFlags(); got != test.want {
			t.Errorf("SelectionFlags returns %s, want %s", got, test.want)
		}
	}
}
