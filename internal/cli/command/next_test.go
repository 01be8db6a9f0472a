package command

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/scenario"
)

func TestNextShowsNoPassword(t *testing.T) {
	a := &App{Args: []string{"bench", "put", "--user", "root:secret", "--user=root:secret", "--set", "user=root:secret", "--user", "root:env:PW", "--out", "one", "--prefix", "it's /"}}
	want := `quorumbench bench put --user NAME:PASSWORD --user=NAME:PASSWORD --set user=NAME:PASSWORD --user root:env:PW --out DIR --prefix 'it'\''s /' --repeats 5`
	if got := a.RepeatCommand("--repeats", "5"); got != want {
		t.Errorf("RepeatCommand returns\n%s, want\n%s", got, want)
	}
	a.Args = []string{"capacity", "--until", "90s", "--until=2m", "--out", "r1", "--until-x=1"}
	if got, want := a.RepeatCommand("--until", "3m"), "quorumbench capacity --out DIR --until-x=1 --until 3m"; got != want {
		t.Errorf("RepeatCommand returns\n%s, want\n%s", got, want)
	}
	for given, shown := range map[string]string{
		"--set=user=root:secret":                           "--set=user=NAME:PASSWORD",
		"--set=baseline.user=root:secret":                  "--set=baseline.user=NAME:PASSWORD",
		"--set=baseline={user: 'root:secret'}":             "'--set=baseline={...}'",
		"--endpoints=root:secret@a:1,http://b:2?token=abc": "--endpoints=a:1,http://b:2...",
		"--set=endpoints=http://root:secret@a:1":           "--set=endpoints=http://a:1",
		"--upload=s3://root:secret@bucket/folder":          "--upload=s3://NAME:PASSWORD@bucket/folder",
	} {
		a.Args = []string{"run", given}
		if got, want := a.RepeatCommand(), "quorumbench run "+shown; got != want {
			t.Errorf("RepeatCommand returns %s, want %s", got, want)
		}
	}
	f := NewAttachFlags()
	f.Store, f.Cluster = "zookeeper", scenario.RunningCluster{CACert: "ca.crt", User: "root:secret", SkipVerify: true}
	if got, want := f.SelectionFlags(), " --store zookeeper --endpoints 127.0.0.1:2379 --cacert ca.crt --insecure-skip-tls-verify --user NAME:PASSWORD"; got != want {
		t.Errorf("SelectionFlags returns\n%s, want\n%s", got, want)
	}
}
